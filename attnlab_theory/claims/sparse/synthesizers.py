"""Weights that compare no tokens cannot look something up (docs/mathematics/sparse.md)."""

import enum
import functools
import math
from typing import Literal, assert_never

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
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory.sparse import synthesizers as theory

HIDDEN = 16
"""Width of the dense synthesizer's hidden layer."""

MOST_PLACES = 33


class Weighting(enum.StrEnum):
    """What the weights of a token come from."""

    ATTENTION = "attention"
    """From its query and all keys."""

    EVEN = "even"
    """From nothing: all are the same."""

    RANDOM = "random"
    """From a table of random logits, one row for each place."""

    DENSE = "dense"
    """From a random network that sees the token alone."""


BLIND_WEIGHTING = Literal[Weighting.EVEN, Weighting.RANDOM, Weighting.DENSE]


class Lookup(Setting):
    """n places, each with a key of its own and a random sign. A last token asks for one key, at a random place.

    The places are the first n of `MOST_PLACES`. The others are masked.
    """

    kind: Weighting
    n: Traced[int]
    strength: Traced[float]
    """The strength of the query, or the standard deviation of the logits."""


def _memory(key: PRNGKeyArray, n: Scalar) -> tuple[Float[Array, "s d"], Float[Array, "s 1"]]:
    """One-hot keys, the first n turned by a random number of places, and signs: all from one row of bits."""
    bits = jax.random.bits(key, (MOST_PLACES + 1,), jnp.uint32)
    n = jnp.asarray(n).astype(bits.dtype)
    # The remainder is uniform up to one part in 2^32 / n.
    keys = jnp.eye(MOST_PLACES)[(jnp.arange(MOST_PLACES, dtype=bits.dtype) + bits[0] % n) % n]
    return keys, jnp.where(bits[1:, None] >> 31, 1.0, -1.0)


def _layers(key: PRNGKeyArray, width: int, n: int) -> tuple[Array, Array, Array, Array]:
    """The layers of a dense synthesizer whose logits have a standard deviation of about one for a one-hot token."""
    first, second = jax.random.split(key)
    w_1, w_2 = jax.random.normal(first, (width + 1, HIDDEN)), jax.random.normal(second, (HIDDEN + 1, n))
    return w_1[1:], w_1[0], w_2[1:] / HIDDEN**0.5, w_2[0]


def _logits(
    key: PRNGKeyArray, kind: BLIND_WEIGHTING, strength: Scalar, x: Float[Array, "t d"]
) -> Float[Array, "t t"]:
    t, width = x.shape
    match kind:
        case Weighting.EVEN:
            return jnp.zeros((t, t))
        case Weighting.RANDOM:
            return strength * random_logits(jax.random.normal(key, (t, t)), t)
        case Weighting.DENSE:
            return strength * dense_logits(x, *_layers(key, width, t))
        case _:
            assert_never(kind)


def _looked_up(key: PRNGKeyArray, s: Lookup) -> Float[Array, ""]:
    """Whether the sign of the asking token's output is the sign kept under its key."""
    for_memory, for_weights = jax.random.split(key)
    keys, signs = _memory(for_memory, s.n)
    kept = jnp.arange(float(MOST_PLACES)) < s.n
    # The question is always for the first key: its place is what is random.
    query, wanted = jnp.eye(MOST_PLACES)[:1], jnp.where(kept, keys[:, 0], 0) @ signs[:, 0]
    match s.kind:
        case Weighting.ATTENTION:
            output = attention(query, keys, signs, kept[None], scale=s.strength)[0, 0]
        case Weighting.EVEN | Weighting.RANDOM | Weighting.DENSE:
            # A token holds its key and its sign. The asking one comes last, and may not look at itself.
            x = jnp.concatenate([jnp.concatenate([keys, signs], axis=1), jnp.pad(query, ((0, 0), (0, 1)))])
            values = jnp.pad(signs, ((0, 1), (0, 0)))
            others = jnp.append(kept, True)[None] & ~jnp.eye(MOST_PLACES + 1, dtype=bool)
            output = synthesizer_attention(_logits(for_weights, s.kind, s.strength, x), values, others)[-1, 0]
        case _:
            assert_never(s.kind)
    return (jnp.sign(output) == wanted).astype(jnp.float32)


PLACES = (3, 9, 33)
PLACED = at_least(n=2, strength=0) | at_most(n=MOST_PLACES)
IN_PLACES = PLACED | {"n is odd": lambda s: s.n % 2 == 1}
ATTENDED = {"attention": lambda s: s.kind == Weighting.ATTENTION}
BLIND_TO_CONTENT = {"no attention": lambda s: s.kind != Weighting.ATTENTION}

RECALL_BY_ATTENTION = Claim(
    name="recall-by-attention",
    statement=r"Attention over $n$ keys recalls the sign that belongs to a key in every problem if $e^\beta$ is "
    r"larger than $n - 1$, by one per cent at least.",
    source="mathematics/sparse.md#recalling-a-sign; Tay et al. 2021",
    hypotheses=PLACED
    | ATTENDED
    | {"strength >= math.log(1.01 * (n - 1))": lambda s: s.strength >= math.log(1.01 * (s.n - 1))},
    predict=Interval.point(1.0),
    draw=_looked_up,
    bound=proportion(),
    resolution=2e-3,
    # A tenth more than n - 1: the key has little more than half of the weight.
    settings=tuple(
        Lookup(kind=Weighting.ATTENTION, n=n, strength=round(math.log(1.1 * (n - 1)), 4)) for n in PLACES
    ),
    rival=Rival[Lookup](
        statement="It is right as often as if it read one key, drawn by the weights: with the weight of the key "
        "that is asked for, and half of the rest.",
        source="weights read as chances, not as shares of an output that only its sign is asked of",
        predict=lambda s: Interval.point(theory.accuracy_of_a_drawn_key(s.n, s.strength)),
    ),
)

RECALL_BY_MAJORITY = Claim(
    name="recall-by-even-weights",
    statement=r"Even weights over $n$ places, $n$ odd, recall a sign with chance "
    r"$\frac{1}{2} + \binom{n-1}{(n-1)/2} 2^{-n}$.",
    source="mathematics/sparse.md#recalling-a-sign; O'Donnell 2014, theorem 2.33",
    hypotheses=IN_PLACES | {"even weights": lambda s: s.kind == Weighting.EVEN},
    predict=lambda s: Interval.point(theory.blind_accuracy(s.n)),
    draw=_looked_up,
    bound=proportion(),
    resolution=0.027,
    settings=tuple(Lookup(kind=Weighting.EVEN, n=n, strength=0.0) for n in PLACES),
    rival=Rival[Lookup](
        statement=r"With chance $\frac{1}{2} + \frac{1}{2n}$.",
        source="all weight on one place: right there, and else a coin",
        predict=lambda s: Interval.point(theory.single_accuracy(s.n)),
    ),
)

RECALL_BY_SYNTHESIZERS = Claim(
    name="recall-by-synthesizers",
    statement="Where values carry signs alone, no synthesizer recalls better than even weights do.",
    source="mathematics/sparse.md#recalling-a-sign; O'Donnell 2014, theorem 2.33; Tay et al. 2021; cs224n/2",
    hypotheses=IN_PLACES | BLIND_TO_CONTENT,
    predict=lambda s: Interval.at_most(theory.blind_accuracy(s.n)),
    draw=_looked_up,
    bound=bounded(0.0, 1.0),
    resolution=0.03,
    settings=tuple(
        Lookup(kind=kind, n=n, strength=strength)
        for kind in (Weighting.RANDOM, Weighting.DENSE)
        for n in PLACES[:2]
        for strength in (2.0, 8.0)
    ),
    rival=Rival(
        statement="A synthesizer recalls no better than a coin.",
        source="the chance that the place asked for is the one that decides, left out",
        predict=Interval.at_most(0.5),
    ),
)


def _kept_in_values(key: PRNGKeyArray, s: Lookup) -> Float[Array, ""]:
    """Whether even weights over the values sign * key recall the sign: the output is read at the key asked for."""
    keys, signs = _memory(key, s.n)
    kept = jnp.arange(float(MOST_PLACES)) < s.n
    wanted = jnp.where(kept, keys[:, 0], 0) @ signs[:, 0]
    logits, others = jnp.zeros((MOST_PLACES, MOST_PLACES)), jnp.broadcast_to(kept, (MOST_PLACES, MOST_PLACES))
    output = synthesizer_attention(logits, signs * keys, others)[-1]
    return (jnp.sign(output[0]) == wanted).astype(jnp.float32)


RECALL_FROM_VALUES = foil(
    RECALL_BY_MAJORITY,
    name="no-synthesizer-recalls",
    statement="No synthesizer recalls better than even weights do, whatever its values carry.",
    source="mathematics/sparse.md#recalling-a-sign, without the condition on the values; Tay et al. 2021",
    predict=lambda s: Interval.at_most(theory.blind_accuracy(s.n)),
    draw=_kept_in_values,
)

RECALL_FOIL = foil(
    RECALL_BY_SYNTHESIZERS,
    name="synthesizers-recall-like-attention",
    statement="A dense synthesizer looks up a sign as attention does, nine times out of ten.",
    source="mathematics/sparse.md#recalling-a-sign; Tay et al. 2021, the reading that tokens need not be compared",
    predict=Interval.at_least(0.9),
    settings=tuple(s for s in RECALL_BY_SYNTHESIZERS.settings if s.kind == Weighting.DENSE),
    stream=RECALL_BY_SYNTHESIZERS,
)


class Replaced(enum.StrEnum):
    """Which tokens are replaced: the one whose weights are watched, or the others."""

    THE_OTHERS = "the others"
    ITSELF = "itself"


class Intervention(Setting):
    """Weights of the first of n tokens when the others, or it itself, are replaced."""

    kind: Weighting
    n: int
    replaced: Replaced


@functools.partial(jax.jit, static_argnums=1)
def _movement(key: PRNGKeyArray, s: Intervention) -> Float[Array, ""]:
    """How far the first row of weights moves."""
    for_tokens, for_weights, for_others = jax.random.split(key, 3)
    x = jax.random.normal(for_tokens, (s.n, s.n))
    others = jax.random.normal(for_others, (s.n, s.n))
    first = jnp.arange(s.n)[:, None] == 0
    match s.replaced:
        case Replaced.THE_OTHERS:
            y = jnp.where(first, x, others)
        case Replaced.ITSELF:
            y = jnp.where(first, others, x)
        case _:
            assert_never(s.replaced)

    def weights(x: Float[Array, "t d"]) -> Float[Array, "t t"]:
        match s.kind:
            case Weighting.ATTENTION:
                return attention_weights(x, x, scale=s.n**-0.5)
            case Weighting.EVEN | Weighting.RANDOM | Weighting.DENSE:
                return synthesizer_weights(_logits(for_weights, s.kind, 1.0, x))
            case _:
                assert_never(s.kind)

    return jnp.max(jnp.abs(weights(y)[0] - weights(x)[0]))


def _compares_nothing(s: Intervention) -> bool:
    """Whether the weights come from nothing that is replaced."""
    blind = s.kind in (Weighting.EVEN, Weighting.RANDOM)
    return blind or (s.kind == Weighting.DENSE and s.replaced == Replaced.THE_OTHERS)


STILL = 1e-6
"""How much weights may differ by rounding. They are at most one and computed twice by the same program."""

BLIND = exact_claim(
    name="synthesizers-compare-no-tokens",
    statement="Whatever the other tokens are replaced by, a synthesizer's row of weights stays as it is; a random "
    "one's even when its own token is.",
    source="mathematics/sparse.md#synthesizers-compare-no-tokens; Tay et al. 2021, section 3",
    hypotheses=at_least(n=1) | {"no token is compared": _compares_nothing},
    predict=Interval.point(0.0),
    draw=_movement,
    rounding=STILL,
    settings=(
        Intervention(kind=Weighting.RANDOM, n=8, replaced=Replaced.THE_OTHERS),
        Intervention(kind=Weighting.RANDOM, n=8, replaced=Replaced.ITSELF),
        Intervention(kind=Weighting.DENSE, n=8, replaced=Replaced.THE_OTHERS),
    ),
    rival=Rival(
        statement="A thousandth of the weight moves.",
        source="the smallest movement that would matter: what float32 cannot have made",
        predict=Interval.at_least(1e-3),
    ),
)

BLIND_FOIL = foil(
    BLIND,
    name="no-weights-move",
    statement="Attention's row of weights stays as it is when the other tokens are replaced, and a dense "
    "synthesizer's when its own token is.",
    source="mathematics/sparse.md#synthesizers-compare-no-tokens; Tay et al. 2021, section 3, said of other "
    "weights",
    hypotheses=at_least(n=2),
    settings=(
        Intervention(kind=Weighting.ATTENTION, n=8, replaced=Replaced.THE_OTHERS),
        Intervention(kind=Weighting.DENSE, n=8, replaced=Replaced.ITSELF),
    ),
)

CLAIMS = (
    RECALL_BY_ATTENTION,
    RECALL_BY_MAJORITY,
    RECALL_BY_SYNTHESIZERS,
    RECALL_FOIL,
    RECALL_FROM_VALUES,
    BLIND,
    BLIND_FOIL,
)
