"""The error of random features, from plain draws up to L = 1 and from tilted draws beyond.

See docs/mathematics/features.md.
"""

import dataclasses
import math
from typing import assert_never

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import positive_features
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.features import pair as problem
from attnlab_theory.claims.features.pair import PairOfPoints, pair
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import hashed_normal
from attnlab_theory.stats import Interval, known_variance, proportion
from attnlab_theory.theory.features import variance as theory
from attnlab_theory.theory.features.estimator import Estimator

COUNTS = (4, 16, 64)
"""Projections; trigonometric and hyperbolic maps make two features of each."""

CHUNK = 256
SWEPT = 16
LENGTHS = (0.25, 0.5, 1.0)
LONGER = (2.0, 4.0, 8.0)


def _settings(estimator: Estimator) -> tuple[PairOfPoints, ...]:
    swept = LENGTHS + (LONGER[:2] if estimator in (Estimator.GENERALIZED, Estimator.DENSE) else ())
    return (
        *(pair(estimator, m, 0.5, 1.0, of=COUNTS[-1]) for m in COUNTS),
        *(pair(estimator, SWEPT, length, 2 * length, of=COUNTS[-1]) for length in swept if length != 0.5),
    )


def _slipped(setting: PairOfPoints) -> float:
    """The error that follows if one thing is forgotten in the derivation."""
    second, m = theory.moment(problem.powers(setting), 2), setting.m
    match setting.estimator:
        case Estimator.TRIGONOMETRIC | Estimator.HYPERBOLIC:
            return (second - 1) / (2 * m)
        case Estimator.POSITIVE | Estimator.DENSE:
            return second / m
        case Estimator.GENERALIZED:
            return (second / (1 - 4 * setting.a) ** (setting.d / 2) - 1) / m
        case _:
            assert_never(setting.estimator)


ERROR = Claim(
    name="feature-error",
    statement=r"The relative mean squared error of $m$ projections is $1/m$ times $\cosh D - 1$ (trigonometric), "
    r"$e^L - 1$ (positive), $\cosh L - 1$ (hyperbolic), less for generalized and dense exponential features.",
    source="mathematics/features.md#the-error-of-one-estimate; Choromanski et al. 2021, lemma 2; Likhosherstov "
    "et al. 2022; Likhosherstov et al. 2023; practical4/3h.3",
    hypotheses=problem.HYPOTHESES | problem.INDEPENDENT | problem.SQUARED,
    predict=lambda s: Interval.point(problem.error(s)),
    draw=problem.draw,
    bound=problem.squared_error_bound,
    resolution=lambda s: 0.15 * problem.error(s),
    rival=Rival(
        statement="Two features of one projection count as two projections; or the 1 is not subtracted from the "
        "second moment (positive and dense exponential features); or its prefactor is not squared (generalized "
        "ones).",
        source="slips in the derivation",
        predict=lambda s: Interval.point(_slipped(s)),
    ),
    settings=tuple(
        setting
        for estimator in (
            Estimator.TRIGONOMETRIC,
            Estimator.POSITIVE,
            Estimator.HYPERBOLIC,
            Estimator.GENERALIZED,
            Estimator.DENSE,
        )
        for setting in _settings(estimator)
    ),
    stream="feature-products",
    chunk=CHUNK,
)

WITHOUT_THE_ONE = foil(
    ERROR,
    name="positive-error-is-the-second-moment",
    statement=r"The relative mean squared error of positive features is $e^L/m$: the second moment, from which "
    "nothing is subtracted.",
    source="mathematics/features.md#the-error-of-one-estimate, with a term dropped",
    predict=lambda s: Interval.point(math.exp(s.sum_square) / s.m),
    settings=_settings(Estimator.POSITIVE),
)

HALF = foil(
    ERROR,
    name="hyperbolic-error-is-half-the-positive",
    statement=r"Using every projection twice halves the error of positive features, and does no more: "
    r"$\frac{1}{2}(e^L - 1)/m$.",
    source="mathematics/features.md#the-error-of-one-estimate, with the factor 1 - e^{-L} dropped",
    predict=lambda s: Interval.point(math.expm1(s.sum_square) / 2 / s.m),
    compared=("positive features", lambda s: math.expm1(s.sum_square) / s.m),
    settings=_settings(Estimator.HYPERBOLIC),
)


class TiltedPair(PairOfPoints):
    """One product of one projection, drawn where its square is large, N(+-tilt (x + y), I), and reweighted."""

    tilt: Traced[float]


def _tilted_square(key: PRNGKeyArray, setting: TiltedPair) -> Float[Array, ""]:
    """f^2 - 1 with f^2 weighted by the ratio of the plain density to the tilted one. Here f is one relative
    product."""
    side, noise = jax.random.split(key)
    x, y = problem.points(setting)
    z, tilt = x + y, jnp.asarray(setting.tilt, x.dtype)
    shift = tilt * z
    if setting.estimator is Estimator.HYPERBOLIC:
        shift = shift * jax.random.rademacher(side, (), x.dtype)
    w = shift + jax.random.normal(noise, x.shape, x.dtype)
    exponent = tilt * jnp.sum(w * z)
    log_tilted = (
        exponent if setting.estimator is Estimator.POSITIVE else jnp.logaddexp(exponent, -exponent) - jnp.log(2.0)
    )
    log_weight = tilt**2 * setting.sum_square / 2 - log_tilted
    # The weight first: the square alone may leave the range of float32.
    return (problem.estimate(setting, w) * jnp.exp(log_weight / 2)) ** 2 - 1


def _tilted_variance(setting: TiltedPair) -> float:
    if setting.estimator is Estimator.POSITIVE:
        return theory.tilted_square_variance(setting.sum_square, setting.tilt) * math.exp(2 * setting.sum_square)
    # At tilt 2 the square is e^L (1 + 1/cosh(2 w.z))/2: a range of e^L/2 has variance e^(2L)/16 at most.
    return math.exp(2 * setting.sum_square) / 16


def _of_the_other(setting: TiltedPair) -> float:
    """The error of hyperbolic features for positive ones, and the other way round."""
    positive = setting.estimator is Estimator.POSITIVE
    swapped = Estimator.HYPERBOLIC if positive else Estimator.POSITIVE
    return problem.error(dataclasses.replace(setting, estimator=swapped))


def _tilted(estimator: Estimator, length: float, tilt: float) -> TiltedPair:
    return TiltedPair(**pair(estimator, 1, length, 2 * length).fields(), tilt=tilt)


TILTED = Claim(
    name="feature-error-by-tilted-draws",
    statement=r"At $L > 1$, where plain draws would have to be millions, projections drawn around $x + y$ and "
    r"reweighted find the same $e^L - 1$ and $\cosh L - 1$.",
    source="mathematics/features.md#measuring-errors-made-by-rare-projections; Choromanski et al. 2021, lemma 2; "
    "practical4/3h.3",
    hypotheses={
        **problem.HYPOTHESES,
        **problem.INDEPENDENT,
        **at_least(tilt=1),
        **at_most(projections=1, tilt=2),
        "positive or hyperbolic features": lambda s: s.estimator in (Estimator.POSITIVE, Estimator.HYPERBOLIC),
        "hyperbolic: tilt 2": lambda s: s.estimator is Estimator.POSITIVE or s.tilt == 2,
    },
    predict=lambda s: Interval.point(problem.error(s)),
    draw=_tilted_square,
    bound=lambda s: known_variance(1.01 * _tilted_variance(s)),
    resolution=lambda s: 0.2 * problem.error(s),
    rival=Rival(
        statement="Positive features have the error of hyperbolic ones, and these that of positive ones.",
        source="the sign of a projection, used once or twice",
        predict=lambda s: Interval.point(_of_the_other(s)),
    ),
    settings=tuple(
        _tilted(estimator, length, tilt)
        for estimator, tilt in ((Estimator.POSITIVE, 1.5), (Estimator.HYPERBOLIC, 2.0))
        for length in LONGER
    ),
)


class NaiveTest(Setting):
    """A test of the error of one positive product by this many draws, failing beyond a relative tolerance."""

    draws: int
    sum_square: Traced[float]
    tolerance: Traced[float]


def _fails(key: PRNGKeyArray, setting: NaiveTest) -> Float[Array, ""]:
    w = hashed_normal(key, (setting.draws, 1))
    length = jnp.asarray(setting.sum_square, w.dtype)
    phi = positive_features(jnp.sqrt(length)[None, None] / 2, w)
    products = setting.draws * phi[0] ** 2 / jnp.exp(length / 4)
    found = jnp.mean((products - 1) ** 2) / jnp.expm1(length)
    return jnp.where(jnp.abs(found - 1) > setting.tolerance, 1.0, 0.0)


NAIVE = Claim(
    name="naive-test-fails-correct-code",
    statement="A test that asks for the error of positive features at $L = 2$ within 10 % of $e^L - 1$, from "
    "$10^5$ draws, fails correct code in a third of its runs.",
    source="mathematics/features.md#measuring-errors-made-by-rare-projections; Gil-Pelaez 1951",
    # The inversion met simulations at the ends of these ranges: its nodes are wide and fine enough there.
    hypotheses=at_least(draws=1, sum_square=0.1) | at_most(sum_square=3, tolerance=1) | more_than(tolerance=0),
    predict=lambda s: Interval.point(theory.naive_test_failure(s.sum_square, s.draws, s.tolerance)),
    draw=_fails,
    bound=proportion(),
    resolution=0.1,
    rival=Rival(
        statement="The mean of so many draws is normal, with their variance.",
        source="the central limit theorem, where it does not hold yet",
        predict=lambda s: Interval.point(theory.naive_test_failure_if_normal(s.sum_square, s.draws, s.tolerance)),
    ),
    settings=(
        NaiveTest(draws=100_000, sum_square=2.0, tolerance=0.1),
        NaiveTest(draws=10_000, sum_square=2.0, tolerance=0.3),
        NaiveTest(draws=1000, sum_square=1.5, tolerance=0.3),
    ),
    stated={"draws": 100_000},
    chunk=16,
)

CLAIMS = (ERROR, WITHOUT_THE_ONE, HALF, TILTED, NAIVE)
