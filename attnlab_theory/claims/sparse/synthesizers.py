"""What weights that compare no tokens cannot do: look something up (claims H.5)."""

import dataclasses
import functools
import math
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import (
    attention_weights,
    dense_logits,
    random_logits,
    synthesizer_attention,
    synthesizer_weights,
)
from attnlab_theory.attention.softmax import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.stats import Interval, bounded, exact
from attnlab_theory.theory.sparse import synthesizers as theory

HIDDEN = 16
"""Width of the dense synthesizer's hidden layer."""

MOST_PLACES = 33

Kind = Literal["attention", "even", "random", "dense"]


@dataclasses.dataclass(frozen=True)
class Lookup:
    """n places, each with a key of its own and a random sign; a last token asks for one key, which is anywhere.

    They are the first n of `MOST_PLACES`, the others masked: n is a float, so that one program serves every n.
    """

    kind: Kind
    n: float
    strength: float
    """Of the query, or of the logits: their standard deviation."""


def _memory(key: PRNGKeyArray, n: Scalar) -> tuple[Float[Array, "s d"], Float[Array, "s 1"]]:
    """One-hot keys, the first n turned by a random number of places, and signs: all from one row of bits."""
    bits = jax.random.bits(key, (MOST_PLACES + 1,), jnp.uint32)
    n = jnp.asarray(n).astype(bits.dtype)
    # The remainder is even to one part in 2^32 / n.
    keys = jnp.eye(MOST_PLACES)[(jnp.arange(MOST_PLACES, dtype=bits.dtype) + bits[0] % n) % n]
    return keys, jnp.where(bits[1:, None] >> 31, 1.0, -1.0)


def _layers(key: PRNGKeyArray, width: int, n: int) -> tuple[Array, Array, Array, Array]:
    """Of a dense synthesizer whose logits have a standard deviation of about one for a one-hot token."""
    first, second = jax.random.split(key)
    w_1, w_2 = jax.random.normal(first, (width + 1, HIDDEN)), jax.random.normal(second, (HIDDEN + 1, n))
    return w_1[1:], w_1[0], w_2[1:] / HIDDEN**0.5, w_2[0]


def _synthesized(key: PRNGKeyArray, s: Lookup, x: Float[Array, "t d"]) -> Float[Array, "t t"]:
    if s.kind == "even":
        return jnp.zeros((x.shape[0], x.shape[0]))
    if s.kind == "random":
        return s.strength * random_logits(jax.random.normal(key, (x.shape[0], x.shape[0])), x.shape[0])
    return s.strength * dense_logits(x, *_layers(key, x.shape[1], x.shape[0]))


def _looked_up(key: PRNGKeyArray, s: Lookup) -> Float[Array, ""]:
    """Whether the sign of the asking token's output is the sign kept under its key."""
    for_memory, for_weights = jax.random.split(key)
    keys, signs = _memory(for_memory, s.n)
    kept = jnp.arange(float(MOST_PLACES)) < s.n
    # The question is always for the first key: its place is what is random.
    query, wanted = jnp.eye(MOST_PLACES)[:1], jnp.where(kept, keys[:, 0], 0) @ signs[:, 0]
    if s.kind == "attention":
        output = attention(query, keys, signs, kept[None], scale=s.strength)[0, 0]
    else:
        # A token holds its key and its sign; the asking one comes last, and may not look at itself.
        x = jnp.concatenate([jnp.concatenate([keys, signs], axis=1), jnp.pad(query, ((0, 0), (0, 1)))])
        values = jnp.pad(signs, ((0, 1), (0, 0)))
        others = jnp.append(kept, True)[None] & ~jnp.eye(MOST_PLACES + 1, dtype=bool)
        output = synthesizer_attention(_synthesized(for_weights, s, x), values, others)[-1, 0]
    return (jnp.sign(output) == wanted).astype(jnp.float32)


PLACES = (3.0, 9.0, 33.0)

RECALL_BY_ATTENTION = Claim(
    name="recall-by-attention",
    statement=r"Attention with $e^\beta > n - 1$ looks up the sign kept under a key, always.",
    source="claims H.5, B.1",
    hypotheses={"the key outweighs the rest": lambda s: s.strength > math.log(s.n - 1)},
    predict=lambda s: Interval(0.999, 1.0),
    draw=_looked_up,
    bound=lambda s: bounded(0.0, 1.0),
    resolution=lambda s: 0.02,
    settings=tuple(Lookup("attention", n, 8.0) for n in PLACES),
)

RECALL_BY_MAJORITY = Claim(
    name="recall-by-even-weights",
    statement=r"Even weights over $n$ places, $n$ odd, recall a sign with chance "
    r"$\frac{1}{2} + \binom{n-1}{(n-1)/2} 2^{-n}$.",
    source="claims H.5",
    hypotheses={"n odd, as many places as there are": lambda s: s.n % 2 == 1 and s.n <= MOST_PLACES},
    predict=lambda s: Interval.point(theory.blind_accuracy(round(s.n))),
    draw=_looked_up,
    bound=lambda s: bounded(0.0, 1.0),
    resolution=lambda s: 0.03,
    settings=tuple(Lookup("even", n, 0.0) for n in PLACES),
)

RECALL_BY_SYNTHESIZERS = Claim(
    name="recall-by-synthesizers",
    statement="No synthesizer, random or dense, recalls better than even weights do.",
    source="claims H.5; cs224n 2(g)",
    hypotheses={"n odd, as many places as there are": lambda s: s.n % 2 == 1 and s.n <= MOST_PLACES},
    predict=lambda s: Interval.at_most(theory.blind_accuracy(round(s.n))),
    draw=_looked_up,
    bound=lambda s: bounded(0.0, 1.0),
    resolution=lambda s: 0.03,
    settings=tuple(
        Lookup(kind, n, strength) for kind in ("random", "dense") for n in PLACES[::2] for strength in (2.0, 8.0)
    ),
)

RECALL_FOIL = dataclasses.replace(
    RECALL_BY_SYNTHESIZERS,
    name="synthesizers-recall-like-attention",
    statement="A dense synthesizer looks up a sign as attention does, nine times out of ten.",
    source='claims H.5 (foil: "token-token interaction is not needed")',
    predict=lambda s: Interval.at_least(0.9),
    settings=tuple(s for s in RECALL_BY_SYNTHESIZERS.settings if s.kind == "dense"),
    expect=Verdict.REFUTED,
    stream="recall-by-synthesizers",
)


@dataclasses.dataclass(frozen=True)
class Intervention:
    """Weights of the first of n tokens when the others, or it itself, are replaced."""

    kind: Kind
    n: int
    replaced: Literal["the others", "itself"]


@functools.partial(jax.jit, static_argnums=1)
def _movement(key: PRNGKeyArray, s: Intervention) -> Float[Array, ""]:
    """How far the first row of weights moves."""
    for_tokens, for_weights, for_others = jax.random.split(key, 3)
    x = jax.random.normal(for_tokens, (s.n, s.n))
    others = jax.random.normal(for_others, (s.n, s.n))
    first = jnp.arange(s.n)[:, None] == 0
    y = jnp.where(first, x, others) if s.replaced == "the others" else jnp.where(first, others, x)

    def weights(x: Float[Array, "t d"]) -> Float[Array, "t t"]:
        if s.kind == "attention":
            return attention_weights(x, x, scale=s.n**-0.5)
        return synthesizer_weights(_synthesized(for_weights, Lookup(s.kind, float(s.n), 1.0), x))

    return jnp.max(jnp.abs(weights(y)[0] - weights(x)[0]))


# Weights of at most one, good to a few eps in the same place of the same program.
STILL = 1e-6

BLIND = Claim(
    name="synthesizers-compare-no-tokens",
    statement="Whatever the other tokens are replaced by, a synthesizer's row of weights stays as it is; a random "
    "one's even when its own token is.",
    source="claims H.5; Tay et al. 2021, section 3",
    hypotheses={},
    predict=lambda s: Interval.point(0.0),
    draw=_movement,
    bound=lambda s: exact(STILL),
    resolution=lambda s: 4 * STILL,
    settings=(
        Intervention("random", 8, "the others"),
        Intervention("random", 8, "itself"),
        Intervention("dense", 8, "the others"),
    ),
)

BLIND_FOIL = dataclasses.replace(
    BLIND,
    name="no-weights-move",
    statement="Attention's row of weights stays as it is when the other tokens are replaced, and a dense "
    "synthesizer's when its own token is.",
    source="claims H.5 (foil)",
    settings=(Intervention("attention", 8, "the others"), Intervention("dense", 8, "itself")),
    expect=Verdict.REFUTED,
)

CLAIMS = (RECALL_BY_ATTENTION, RECALL_BY_MAJORITY, RECALL_BY_SYNTHESIZERS, RECALL_FOIL, BLIND, BLIND_FOIL)
