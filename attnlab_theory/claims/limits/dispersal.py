"""Attention over more and more keys gets less sharp, and with a sink its output may vanish
(docs/mathematics/limits.md)."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.limits import dispersal as theory

EPS = float(np.finfo(np.float32).eps)

MOST_KEYS = 4096
MOST_RANDOM_KEYS = 256


class BoundedScores(Setting):
    """n keys whose scores lie between -peak and peak."""

    n: int
    peak: float


def _first(n: Scalar, of: int) -> Bool[Array, "1 s"]:
    """A mask that keeps the first `n` of `of` keys, so that all numbers of keys share one program."""
    return (jnp.arange(of, dtype=float) < n)[None, :]


@jax.jit
def _one_against_all(n: Scalar, peak: Scalar) -> Float[Array, ""]:
    """The weight of a key that points along the query, if all other keys point against it."""
    keys = jnp.full((MOST_KEYS, 1), -1.0).at[0, 0].set(1.0)
    return attention_weights(jnp.ones((1, 1)), keys, _first(n, MOST_KEYS), scale=peak)[0, 0]


def _extreme_weight(key: PRNGKeyArray, setting: BoundedScores) -> Float[Array, ""]:
    del key
    return _one_against_all(float(setting.n), setting.peak)


def _extreme_rounding(setting: BoundedScores) -> float:
    # Relative errors: e^(2 * peak) errs by 2 * peak eps, and a sum of n terms by n eps.
    return EPS * (4 * setting.peak + 2 * setting.n + 4) * theory.largest_weight(setting.n, setting.peak)


COUNTS = tuple(4**i for i in range(1, 7))

EXTREME = exact_claim(
    name="dispersal-is-reached",
    statement=r"One score of $M$ among $n - 1$ of $-M$ gets the weight $e^{2M}/(e^{2M} + n - 1)$.",
    source="mathematics/limits.md#bounded-scores-disperse; Velickovic et al. 2024, lemma 2.1",
    hypotheses=at_least(n=2) | at_most(n=MOST_KEYS, peak=40) | more_than(peak=0),
    predict=lambda s: Interval.point(theory.largest_weight(s.n, s.peak)),
    draw=_extreme_weight,
    rounding=_extreme_rounding,
    settings=tuple(BoundedScores(n=n, peak=peak) for peak in (1.0, 2.0, 4.0) for n in COUNTS),
    rival=Rival(
        statement=r"The weight is $e^M/(e^M + n - 1)$.",
        source="scores between $-M$ and $M$ read as if they lay between 0 and $M$",
        predict=lambda s: Interval.point(theory.mean_weight_beside_nothing(s.n, s.peak)),
    ),
)


class UnitKeys(Setting):
    """n random keys of length one and width d, and a query of length `peak`, which no score exceeds."""

    n: Traced[int]
    d: int
    peak: Traced[float]


def _sharpest(key: PRNGKeyArray, setting: UnitKeys) -> Float[Array, ""]:
    for_query, for_keys = jax.random.split(key)
    q, k = jax.random.normal(for_query, (1, setting.d)), jax.random.normal(for_keys, (MOST_RANDOM_KEYS, setting.d))
    q, k = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (q, k))
    return jnp.max(attention_weights(q, k, _first(setting.n, MOST_RANDOM_KEYS), scale=setting.peak))


DISPERSAL = Claim(
    name="dispersal",
    statement=r"Among $n$ random keys of length one, a query of length $M$ gives the largest weight "
    r"$n\int\int f(t) e^{Mt - ue^{Mt}} G(t, u)^{n-1}\,du\,dt$ on average, which falls like $1/n$.",
    source="mathematics/limits.md#bounded-scores-disperse; Velickovic et al. 2024, lemma 2.1",
    hypotheses=at_least(n=2) | at_most(n=MOST_RANDOM_KEYS, peak=40) | more_than(peak=0, d=1),
    predict=lambda s: Interval.point(theory.mean_largest_weight(s.n, s.d, s.peak)),
    draw=_sharpest,
    # Twice what bounded scores allow. With the claimed bound itself, the claim would be assumed and not tested.
    bound=lambda s: bounded(0.0, min(1.0, 2 * theory.largest_weight(s.n, s.peak))),
    resolution=lambda s: (0.04 + 0.02 * s.peak) * theory.mean_largest_weight(s.n, s.d, s.peak),
    settings=(
        *(UnitKeys(n=n, d=4, peak=peak) for peak in (1.0, 2.0, 4.0) for n in COUNTS[:4]),
        *(UnitKeys(n=64, d=d, peak=4.0) for d in (2, 16)),
    ),
    rival=Rival(
        statement=r"The largest weight is $e^M/(e^M + n - 1)$: that of a key along the query among keys that score "
        "zero, which is what they do on average.",
        source="random keys replaced by their mean score",
        predict=lambda s: Interval.point(theory.mean_weight_beside_nothing(s.n, s.peak)),
    ),
    chunk=32,
)


FEWEST = 16


class GrowingQuery(Setting):
    """n random keys of length one and width d, and a query for one of them, of strength rate * ln n."""

    n: int
    d: int
    rate: float


def _weight_asked_for(key: PRNGKeyArray, setting: GrowingQuery) -> Float[Array, ""]:
    k = jax.random.normal(key, (setting.n, setting.d))
    k = k / jnp.linalg.norm(k, axis=1, keepdims=True)
    return attention_weights(k[:1], k, scale=setting.rate * math.log(setting.n))[0, 0]


def _least_asked_for(setting: GrowingQuery) -> float:
    return theory.least_weight_asked_for(setting.n, setting.d, setting.rate * math.log(setting.n))


LOGARITHM = Claim(
    name="scores-that-grow-like-ln-n-stay-sharp",
    statement=r"A query of strength $s\ln n$ gives its one of $n$ random keys at least the weight $1/(1 + (n - "
    r"1)\mu_d(s\ln n))$ on average: three fifths at $s = 1.25$, $d = 32$ and any $n$ up to 1024.",
    source="mathematics/limits.md#scores-that-grow-like-the-logarithm-of-the-length; Nakanishi 2025, scalable "
    "softmax",
    hypotheses=at_least(n=FEWEST) | more_than(d=1, rate=0),
    predict=lambda s: Interval.at_least(_least_asked_for(s)),
    draw=_weight_asked_for,
    bound=bounded(0.0, 1.0),
    resolution=0.04,
    settings=tuple(GrowingQuery(n=n, d=32, rate=1.25) for n in (64, 128, 256, 512, 1024)),
    rival=Rival(
        statement=f"The weight falls with $n$ as at the strength that is enough among {FEWEST} keys.",
        source="Velickovic et al. 2024, dispersal at a fixed strength, taken for a law of every softmax",
        predict=lambda s: Interval.point(theory.least_weight_asked_for(s.n, s.d, s.rate * math.log(FEWEST))),
    ),
    chunk=32,
)

NARROW = foil(
    LOGARITHM,
    name="a-logarithm-is-enough-at-any-width",
    statement=r"A strength of $1.25\ln n$ keeps half of the weight on one of $n$ keys, whatever their width.",
    source="mathematics/limits.md#scores-that-grow-like-the-logarithm-of-the-length; Nakanishi 2025, scalable "
    "softmax, without asking how near the other keys lie",
    predict=Interval.at_least(0.5),
    settings=tuple(GrowingQuery(n=n, d=4, rate=1.25) for n in (64, 256, 1024)),
)

STAYS_SHARP = foil(
    EXTREME,
    name="a-head-sharp-at-16-keys-stays-sharp",
    statement="A head gives one of 16 keys nine tenths of its weight. Then it gives this key at least half among "
    "any number of keys.",
    source="mathematics/limits.md#bounded-scores-disperse, what is learned on short texts asked of longer ones",
    predict=Interval.at_least(0.5),
    settings=tuple(BoundedScores(n=n, peak=round(theory.peak_needed(16, 0.9), 6)) for n in COUNTS[4:]),
)


class Sink(Setting):
    """A query that points against each of n orthonormal keys of width d: all scores are -beta, so Z = n e^-beta."""

    n: int
    d: int
    beta: float


@jax.jit
def _lengths(keys: Float[Array, "s d"], beta: Scalar) -> tuple[Scalar, Scalar]:
    """The output without and with a sink, for a query that points against all keys. All values are one."""
    q = -jnp.sum(keys, axis=0, keepdims=True)
    values = jnp.ones((keys.shape[0], 1))
    longer = [jnp.concatenate([x, jnp.zeros_like(x[:1])]) for x in (keys, values)]
    plain, sunk = (attention(q, *given, scale=beta)[0, 0] for given in ((keys, values), longer))
    return plain, sunk


def _without_and_with(key: PRNGKeyArray, setting: Sink) -> tuple[Scalar, Scalar]:
    return _lengths(orthonormal(key, setting.n, setting.d), setting.beta)


def _share_left(key: PRNGKeyArray, setting: Sink) -> Scalar:
    plain, sunk = _without_and_with(key, setting)
    return sunk / plain


def _without_a_sink(key: PRNGKeyArray, setting: Sink) -> Scalar:
    return _without_and_with(key, setting)[0]


def _sink_rounding(setting: Sink) -> float:
    # As for copying: keys are orthonormal to a few eps * sqrt(d), and a sum over n and a quotient are rounded.
    return EPS * (4 * setting.d**0.5 * setting.beta * setting.n**0.5 + 2 * setting.n + 8)


SINK = exact_claim(
    name="a-sink-scales-the-output",
    statement=r"One more key of score 0 and value 0 scales the output by $Z/(Z + 1)$, $Z = \sum_i e^{z_i}$: where "
    r"all scores are low, attention says nothing.",
    source="mathematics/limits.md#a-sink-lets-attention-say-nothing; Miller 2023; Xiao et al. 2023",
    hypotheses=at_least(n=1) | {"n <= d": lambda s: s.n <= s.d} | more_than(beta=0) | at_most(beta=80),
    predict=lambda s: Interval.point(theory.sink_factor(s.n * np.exp(-s.beta))),
    draw=_share_left,
    rounding=_sink_rounding,
    settings=(
        *(Sink(n=16, d=32, beta=beta) for beta in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)),
        *(Sink(n=n, d=64, beta=2.0) for n in (4, 64)),
    ),
    rival=Rival(
        statement="A sink takes the share of one more key: $n/(n + 1)$ of the output is left.",
        source="the scores left out",
        predict=lambda s: Interval.point(theory.sink_factor(float(s.n))),
    ),
)

SILENT = foil(
    SINK,
    name="low-scores-silence-attention-without-a-sink",
    statement=r"A query that points away from every key gets almost nothing from them.",
    source="mathematics/limits.md#a-sink-lets-attention-say-nothing, but low scores are only low beside others",
    predict=Interval.at_most(0.1),
    draw=_without_a_sink,
    settings=SINK.settings[4:7],
)

CLAIMS = (EXTREME, DISPERSAL, LOGARITHM, NARROW, STAYS_SHARP, SINK, SILENT)
