"""Attention among ever more keys grows blunt, and with a sink it may say nothing (claims J.1, J.6)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, bounded, exact
from attnlab_theory.theory.limits import dispersal as theory

EPS = float(np.finfo(np.float32).eps)


MOST_KEYS = 4096


@dataclasses.dataclass(frozen=True)
class Bounded:
    """n keys, at most MOST_KEYS, whose scores lie between -peak and peak.

    A whole number, but a float to the compiler: keys beyond the n-th are masked, and all numbers share a program.
    """

    n: float
    peak: float


def _first(n: Scalar, of: int) -> Bool[Array, "1 s"]:
    return (jnp.arange(of, dtype=float) < n)[None, :]


@jax.jit
def _one_against_all(n: Scalar, peak: Scalar) -> Float[Array, ""]:
    """The weight of a key along the query, all others against it."""
    keys = jnp.full((MOST_KEYS, 1), -1.0).at[0, 0].set(1.0)
    return attention_weights(jnp.ones((1, 1)), keys, _first(n, MOST_KEYS), scale=peak)[0, 0]


def _extreme_weight(key: PRNGKeyArray, setting: Bounded) -> Float[Array, ""]:
    del key
    return _one_against_all(setting.n, setting.peak)


def _extreme_rounding(setting: Bounded) -> float:
    # A power of 2 * peak is good to that many eps, a sum of n terms to n, all relative.
    return EPS * (4 * setting.peak + 2 * setting.n + 4) * theory.largest_weight(int(setting.n), setting.peak)


COUNTS = tuple(4.0**i for i in range(1, 7))

EXTREME = Claim(
    name="dispersal-is-reached",
    statement=r"One score of $M$ among $n - 1$ of $-M$ gets the weight $e^{2M}/(e^{2M} + n - 1)$.",
    source="claims J.1",
    hypotheses={"peak > 0": lambda s: s.peak > 0},
    predict=lambda s: Interval.point(theory.largest_weight(int(s.n), s.peak)),
    draw=_extreme_weight,
    bound=lambda s: exact(_extreme_rounding(s)),
    resolution=lambda s: 4 * _extreme_rounding(s),
    settings=tuple(Bounded(n, peak) for peak in (1.0, 2.0, 4.0) for n in COUNTS),
)


@dataclasses.dataclass(frozen=True)
class Sphere:
    """n of 256 random keys of length one and width d, and a query of length `peak`: no score exceeds it."""

    n: float
    d: int
    peak: float


def _sharpest(key: PRNGKeyArray, setting: Sphere) -> Float[Array, ""]:
    for_query, for_keys = jax.random.split(key)
    q, k = jax.random.normal(for_query, (1, setting.d)), jax.random.normal(for_keys, (256, setting.d))
    q, k = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (q, k))
    return jnp.max(attention_weights(q, k, _first(setting.n, 256), scale=setting.peak))


DISPERSAL = Claim(
    name="dispersal",
    statement=r"With all scores between $-M$ and $M$ the largest weight is at most $e^{2M}/(e^{2M} + n - 1)$, on "
    r"average over random keys.",
    source="claims J.1; Velickovic et al. 2024",
    hypotheses={"peak > 0": lambda s: s.peak > 0},
    predict=lambda s: Interval.at_most(theory.largest_weight(int(s.n), s.peak)),
    draw=_sharpest,
    bound=lambda s: bounded(0.0, 1.0),
    resolution=lambda s: 0.05,
    settings=tuple(Sphere(n, 4, peak) for peak in (1.0, 2.0, 4.0) for n in COUNTS[:4]),
    chunk=32,
)


@dataclasses.dataclass(frozen=True)
class Grown:
    """n keys whose scores may grow with n, so that one of them can still weigh `weight`."""

    n: float
    weight: float


def _grown(setting: Grown) -> Bounded:
    return Bounded(setting.n, theory.peak_needed(int(setting.n), setting.weight))


LOGARITHM = Claim(
    name="scores-that-grow-like-ln-n-stay-sharp",
    statement=r"Scores up to $M = \frac{1}{2}\ln((n - 1)w/(1 - w))$ keep the weight $w$ at any number of keys.",
    source="claims J.1; Nakanishi 2025, scalable softmax",
    hypotheses={"weight > 1 / n": lambda s: s.weight > 1 / s.n},
    predict=lambda s: Interval.point(s.weight),
    draw=lambda key, s: _extreme_weight(key, _grown(s)),
    bound=lambda s: exact(_extreme_rounding(_grown(s))),
    resolution=lambda s: 4 * _extreme_rounding(_grown(s)),
    settings=tuple(Grown(n, 0.9) for n in COUNTS),
)

STAYS_SHARP = Claim(
    name="a-head-sharp-at-16-keys-stays-sharp",
    statement=r"A head that gives one of 16 keys nine tenths of its weight gives it most of it at any length.",
    source="a foil: what is learned on short texts, asked of longer ones",
    hypotheses={},
    predict=lambda s: Interval.at_least(0.5),
    draw=_extreme_weight,
    bound=lambda s: exact(_extreme_rounding(s)),
    resolution=lambda s: 4 * _extreme_rounding(s),
    settings=tuple(Bounded(n, round(theory.peak_needed(16, 0.9), 6)) for n in COUNTS[4:]),
    expect=Verdict.REFUTED,
)


@dataclasses.dataclass(frozen=True)
class Sink:
    """A query against the sum of n orthonormal keys, strength beta each: Z = n e^-beta."""

    n: int
    d: int
    beta: float


@jax.jit
def _lengths(keys: Float[Array, "s d"], beta: Scalar) -> tuple[Scalar, Scalar]:
    """The output without and with a sink, of a query against keys of equal values, one each."""
    q = -jnp.sum(keys, axis=0, keepdims=True)
    values = jnp.ones((keys.shape[0], 1))
    longer = [jnp.concatenate([x, jnp.zeros_like(x[:1])]) for x in (keys, values)]
    plain, sunk = (attention(q, *given, scale=beta)[0, 0] for given in ((keys, values), longer))
    return plain, sunk


def _share_left(key: PRNGKeyArray, setting: Sink) -> Scalar:
    plain, sunk = _lengths(orthonormal(key, setting.n, setting.d), setting.beta)
    return sunk / plain


def _sink_rounding(setting: Sink) -> float:
    # As for copying: scores of keys orthonormal to a few eps * sqrt(d), a sum over n, a quotient.
    return EPS * (4 * setting.d**0.5 * setting.beta * setting.n**0.5 + 2 * setting.n + 8)


SINKS = tuple(Sink(16, 32, beta) for beta in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0))

SINK = Claim(
    name="a-sink-scales-the-output",
    statement=r"One more key of score 0 and value 0 scales the output by $Z/(Z + 1)$, $Z = \sum_i e^{z_i}$: where "
    r"all scores are low, attention says nothing.",
    source="claims J.6; Xiao et al. 2023",
    hypotheses={"n <= d": lambda s: s.n <= s.d, "beta > 0": lambda s: s.beta > 0},
    predict=lambda s: Interval.point(theory.sink_factor(s.n * np.exp(-s.beta))),
    draw=_share_left,
    bound=lambda s: exact(_sink_rounding(s)),
    resolution=lambda s: 4 * _sink_rounding(s),
    settings=SINKS,
)


SILENT = Claim(
    name="low-scores-silence-attention-without-a-sink",
    statement=r"A query that points away from every key gets almost nothing from them.",
    source="a foil: weights add up to one, so that low scores are only low beside others",
    hypotheses={},
    predict=lambda s: Interval.at_most(0.1),
    draw=lambda key, s: _lengths(orthonormal(key, s.n, s.d), s.beta)[0],
    bound=lambda s: exact(_sink_rounding(s)),
    resolution=lambda s: 4 * _sink_rounding(s),
    settings=SINKS[-3:],
    expect=Verdict.REFUTED,
)

CLAIMS = (EXTREME, DISPERSAL, LOGARITHM, STAYS_SHARP, SINK, SILENT)
