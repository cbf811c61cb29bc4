"""Different ways to the same numbers: cached and full, one by one and together, compiled and not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.attention.caching import cached_attention
from attnlab_theory.axes import Scalar
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending, Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import (
    BLOCKED,
    DECODED,
    LENGTHS,
    OPERATORS,
    SCHEMES,
    SOFTMAX,
    TILED,
    Operator,
    Scheme,
    decoded,
    decoded_case,
    full_pass,
    longer,
    of_length,
    self_attention_rounding,
)
from attnlab_theory.identities.rounding import gap

Route = Callable[[Attending], Array]


def decoding(scheme: Scheme, decode: Callable[[Tokens, Scheme], Array] = decoded) -> Identity[Tokens]:
    """Generation computes what training computed, at every position."""
    one_by_one = jax.jit(lambda case: decode(decoded_case(case), scheme))
    together = jax.jit(lambda case: full_pass(decoded_case(case), scheme, causal=True))
    return Identity(
        family="decoding-is-full-pass",
        subject=f"positions {scheme}",
        statement="Decoding with a cache of keys and values gives the causal full pass, at every position.",
        source="mathematics/identities.md#the-same-numbers-by-different-ways; ann-hw3/5.2.1",
        cases=cases.tokens,
        residual=lambda case: gap(one_by_one(case), together(case)),
        tolerance=lambda case: 2 * self_attention_rounding(decoded_case(case), scheme),
        lengths=(DECODED,),
    )


def agreement(
    family: str,
    statement: str,
    operator: Operator,
    one: Route,
    other: Route,
    *,
    lengths: tuple[int, ...] = (),
) -> Identity[Attending]:
    """Two ways to the same outputs, at the case's own length or at several lengths.

    A fault of long sequences alone, or at the edge of a block, shows at one of the lengths. Each gap is divided by
    the tolerance of its length. The residual is the largest of these, times the tolerance of the case.
    """

    def tolerance(case: Attending) -> float:
        return 2 * operator.rounding(case)

    def residual(case: Attending) -> float:
        found = []
        for n in lengths:
            resized = of_length(case, n)
            allowed = tolerance(resized)
            scale = tolerance(case) / allowed if allowed else 1.0
            found.append(scale * gap(one(resized), other(resized)))
        return float(np.max(found)) if lengths else gap(one(case), other(case))

    return Identity(
        family=family,
        subject=operator.name,
        statement=statement,
        source="mathematics/identities.md#the-same-numbers-by-different-ways",
        cases=cases.attending,
        residual=residual,
        tolerance=tolerance,
        lengths=lengths,
    )


def cached(mix: Callable[..., Array]) -> Identity[Attending]:
    """The cache under given queries, keys and values."""

    def masked(case: Attending) -> Array:
        return attention(case.q, case.k, case.v, causal_mask(case.q.shape[0]), scale=case.scale)

    return agreement(
        "cached-is-masked",
        "Attention over a growing cache equals attention under a causal mask.",
        SOFTMAX,
        jax.jit(lambda case: mix(case.q, case.k, case.v, scale=case.scale)),
        jax.jit(masked),
        lengths=LENGTHS,
    )


def by_chunks(mask_of: Callable[[int, int], Array], chunks: int = 3) -> Callable[..., Array]:
    """Attention some queries at a time, each over all keys so far, as a long prompt is read into a cache.

    Args:
        mask_of: a function of the numbers of queries and keys to the mask.
        chunks: how many chunks at most. Each has two queries or more, and the last may have fewer.

    Returns:
        A function of (q, k, v, mask, scale=). It uses `mask_of` and ignores the mask that it is given.
    """

    def mix(q: Array, k: Array, v: Array, mask: Array | None = None, *, scale: Scalar) -> Array:
        outputs, size = [], max(2, -(-len(q) // chunks))
        for start in range(0, len(q), size):
            end = min(start + size, len(q))
            seen = mask_of(end - start, end)
            outputs.append(attention(q[start:end], k[:end], v[:end], seen, scale=scale))
        return jnp.concatenate(outputs)

    return mix


def chunked(mask_of: Callable[[int, int], Array]) -> Identity[Attending]:
    """Attention by chunks of queries that stand at the end of the keys, and all at once.

    Args:
        mask_of: a function of the numbers of queries and keys to the mask.
    """

    def in_chunks(case: Attending) -> Array:
        return by_chunks(mask_of)(case.q, case.k, case.v, scale=case.scale)

    def whole(case: Attending) -> Array:
        return attention(case.q, case.k, case.v, causal_mask(case.q.shape[0]), scale=case.scale)

    return agreement(
        "chunks-are-full-pass",
        "Chunk by chunk, each over all keys so far, causal attention gives what it gives at once.",
        SOFTMAX,
        jax.jit(in_chunks),
        jax.jit(whole),
        lengths=LENGTHS,
    )


def blocked(operator: Operator, plain: Callable[..., Array]) -> Identity[Attending]:
    """The matrix of weights in pieces, and at once."""

    def at_once(case: Attending) -> Array:
        return plain(case.q, case.k, case.v, scale=case.scale)

    def in_pieces(case: Attending) -> Array:
        return operator.mix(case.q, case.k, case.v, scale=case.scale)

    statement = "Attention one block at a time equals attention at once."
    routes = jax.jit(in_pieces), jax.jit(at_once)
    # Tile by tile sequences are made longer anyway.
    return agreement("blocked-is-plain", statement, operator, *routes, lengths=() if operator is TILED else LENGTHS)


def _longer_causal(q: Array, k: Array, v: Array, *, scale: Scalar) -> Array:
    q, k, v = longer(q), longer(k), longer(v)
    return attention(q, k, v, causal_mask(q.shape[0]), scale=scale)


def vectorised(operator: Operator, together: Callable[..., Callable[..., Array]] = jax.vmap) -> Identity[Attending]:
    """Two problems at once, and one after the other."""

    def pairs(case: Attending) -> tuple[Array, Array, Array]:
        # Two that differ in everything: the second has the roles of queries and keys exchanged.
        q, k = jnp.stack((case.q, case.k)), jnp.stack((case.k, case.q))
        return q, k, jnp.stack((case.v, case.v[case.order]))

    def at_once(case: Attending) -> Array:
        return together(lambda q, k, v: operator.mix(q, k, v, case.mask, scale=case.scale))(*pairs(case))

    def loop(case: Attending) -> Array:
        parts = zip(*pairs(case), strict=True)
        return jnp.stack([operator.mix(q, k, v, case.mask, scale=case.scale) for q, k, v in parts])

    statement = "Attention under vmap equals a loop over the problems."
    return agreement("vmap-is-loop", statement, operator, jax.jit(at_once), jax.jit(loop))


def compiled(operator: Operator, compile_: Callable[..., Callable[..., Array]] = jax.jit) -> Identity[Attending]:
    """The operator under `jit`, and one operation after the other, loops and all."""

    def written(case: Attending) -> Array:
        return operator.mix(case.q, case.k, case.v, case.mask, scale=case.scale)

    def eager(case: Attending) -> Array:
        with jax.disable_jit():
            return written(case)

    return agreement("jit-is-eager", "Compiled and eager attention agree.", operator, compile_(written), eager)


IDENTITIES = (
    *(decoding(scheme) for scheme in SCHEMES),
    cached(cached_attention),
    chunked(causal_mask),
    blocked(BLOCKED, attention),
    blocked(TILED, _longer_causal),
    *map(vectorised, OPERATORS),
    # Tile by tile, two hundred small steps of a case take a second eagerly: blocks stand for them here.
    *(compiled(operator) for operator in OPERATORS if operator is not TILED),
)
