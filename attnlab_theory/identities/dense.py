"""Mixers that compute in pieces give what their definition gives, which forms the whole matrix."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import attention, causal_mask, linked_mask, positive_features
from attnlab_theory.identities import cases, zoo
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import with_tokens
from attnlab_theory.identities.rounding import gap
from attnlab_theory.identities.subject import Subject
from attnlab_theory.identities.zoo import SUBJECTS

Definition = Callable[[Tokens, bool], Array]
"""A function of a case, and of whether it is causal, to the outputs by definition: one row for each token."""


def equals_definition(subject: Subject, definition: Definition, causal: bool) -> Identity[Tokens]:
    """A mixer that never forms the matrix of weights equals its definition, which does."""
    defined = jax.jit(lambda case: definition(case, causal))

    def residual(case: Tokens) -> float:
        """The residual in units of the case's own tolerance, because each length has another tolerance."""
        at = (case, *(with_tokens(case, n) for n in subject.lengths))
        gaps = [(gap(subject.mix(each), defined(each)), subject.rounding(each)) for each in at]
        # Tokens of zero have no rounding: nothing may differ.
        exact = [found for found, rounding in gaps if not rounding]
        if any(exact):
            return np.inf
        # Not Python's max, which loses a NaN that is not the first.
        units = [found / rounding for found, rounding in gaps if rounding]
        return subject.rounding(case) * float(np.max(units, initial=0.0))

    return Identity(
        family="cheap-is-dense",
        subject=subject.name,
        statement="Attention without the matrix of all pairs equals attention with it.",
        source="mathematics/identities.md#the-same-numbers-by-different-ways",
        cases=cases.tokens,
        residual=residual if subject.lengths else lambda case: gap(subject.mix(case), defined(case)),
        tolerance=lambda case: 2 * subject.rounding(case),
        lengths=(cases.LENGTH, *subject.lengths) if subject.lengths else (),
    )


def under_mask(case: Tokens, mask: Array) -> Array:
    """Plain attention of the case's head under any mask."""
    return attention(*zoo.projections(case).of(case.x), mask, scale=case.scale)


def sliding(case: Tokens, causal: bool) -> Array:
    """A band of three positions around the query's own, or up to it."""
    t, s = np.ogrid[: case.x.shape[0], : case.x.shape[0]]
    return under_mask(case, jnp.asarray((s <= t) & (t - s < 3) if causal else abs(t - s) <= 1))


def bigbird(case: Tokens, causal: bool) -> Array:
    """BigBird's mask in full."""
    return under_mask(case, linked_mask(jnp.asarray(zoo.LINKS), case.x.shape[0], causal=causal, **zoo.LAYOUT))


def additive(case: Tokens, causal: bool) -> Array:
    """The whole tensor of hidden units."""
    hidden = jnp.tanh((case.x @ case.w_q)[:, None, :] + (case.x @ case.w_k)[None, :, :])
    return _means(jnp.einsum("tsm,m->ts", hidden, case.table[0]), case, causal)


def linear(case: Tokens, causal: bool) -> Array:
    """The products of all features, summed in the other order."""
    q, k, _ = zoo.softened(case).of(case.x)
    half = jnp.sqrt(jnp.asarray(case.scale, q.dtype))
    phi_q, phi_k = (positive_features(half * y, case.table / 4) for y in (q, k))
    return _means(jnp.log(jnp.einsum("tm,sm->ts", phi_q, phi_k)), case, causal)


def fast_weights(case: Tokens, causal: bool) -> Array:
    """Products of all queries with all keys, each times the decays between the two."""
    return _memory(case, jnp.zeros((case.x.shape[0],) * 2, case.x.dtype))


def delta_rule(case: Tokens, causal: bool) -> Array:
    """The same of values that a triangular matrix corrects: 1 + the overlaps of later keys with earlier ones."""
    return _memory(case, jnp.ones((case.x.shape[0],) * 2, case.x.dtype))


def _memory(case: Tokens, corrected: Array) -> Array:
    q, k, v = zoo.projections(case).of(case.x)
    k = k / jnp.maximum(1, jnp.linalg.norm(k, axis=1, keepdims=True))
    decay, beta = jax.nn.sigmoid(case.x @ case.table[:2].T).T
    t = np.arange(len(case.x))
    between = (t[None, :, None] < t[None, None, :]) & (t[None, None, :] <= t[:, None, None])
    # Over t, s and the position whose decay lies between: each product by itself.
    left = jnp.tril(jnp.prod(jnp.where(between, decay, 1), axis=2))
    overlaps = jnp.eye(len(case.x), dtype=k.dtype) + corrected * jnp.tril(beta[:, None] * (k @ k.T) * left, -1)
    return (q @ k.T * left) @ (jnp.linalg.inv(overlaps) @ (beta[:, None] * v))


def latent(case: Tokens, causal: bool) -> Array:
    """All keys and values, made of the latent rows one by one."""
    q, c, to_keys, to_values = zoo.latent_case(case, case.x)
    mask = causal_mask(len(c)) if causal else None
    heads = [
        attention(q[h], c @ to_keys[h].T, c @ to_values[h].T, mask, scale=case.scale) for h in range(len(to_keys))
    ]
    return jnp.concatenate(heads, axis=1)


def forgetting(case: Tokens, causal: bool) -> Array:
    """Every log gate between a query and a key, added up by a product of matrices."""
    q, k, _ = zoo.projections(case).of(case.x)
    log_gates, t = jax.nn.log_sigmoid(case.x @ case.table[0]), np.arange(len(case.x))
    between = jnp.asarray((t[None, :, None] < t[None, None, :]) & (t[None, None, :] <= t[:, None, None]), q.dtype)
    scores = case.scale * (q @ k.T) + jnp.einsum("tsd,d->ts", between, log_gates)
    return _means(scores, case, True)


def _means(scores: Array, case: Tokens, causal: bool) -> Array:
    mask = causal_mask(case.x.shape[0])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf) if causal else scores, axis=1)
    return weights @ (case.x @ case.w_v)


DEFINITIONS: dict[str, Definition] = {
    "sliding window": sliding,
    "BigBird": bigbird,
    "additive": additive,
    "linear attention": linear,
    "positive features": linear,
    "fast weights": fast_weights,
    "delta rule": delta_rule,
    "delta rule in chunks": delta_rule,
    "forget gates": forgetting,
    "latent attention": latent,
}

IDENTITIES = tuple(
    equals_definition(subject, definition, causal)
    for subject in SUBJECTS
    for name, definition in DEFINITIONS.items()
    for causal in (False, True)
    if subject.name == (f"{name}, causal" if causal else name)
)
