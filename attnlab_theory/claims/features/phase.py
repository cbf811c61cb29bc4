"""Which random features have the least variance at equal numbers of features, and why trigonometric ones break.

See docs/mathematics/features.md. Relative variance depends on a pair of points through L = |x + y|^2 and
D = |x - y|^2 alone.
Where the variance is large, rare projections make it. So half of all projections are drawn where the square of the
estimate is large, and weighted by the ratio of the densities.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import dense_exponential_features, generalized_exponential_features, positive_features
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.features.maps import MAPS
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.stats import Bound, Interval, known_variance
from attnlab_theory.theory.features import pair as theory
from attnlab_theory.theory.features import phase as regions
from attnlab_theory.theory.features.estimator import Estimator

EPS = float(np.finfo(np.float32).eps)
WIDTH = 16


class OneProjection(Setting):
    """One projection of two points of width d, |x + y|^2 = sum_square and |x - y|^2 = difference_square.

    `a` is the parameter of generalized exponential features, or that of dense ones along x + y; 0 for all others.
    """

    estimator: Estimator
    d: int
    sum_square: Traced[float]
    difference_square: Traced[float]
    a: float = 0.0


def one_projection(
    estimator: Estimator, sum_square: float, difference_square: float, d: int = WIDTH
) -> OneProjection:
    """The setting in which generalized and dense exponential features have the parameters best for this pair."""
    directions = {Estimator.GENERALIZED: d, Estimator.DENSE: 1}.get(estimator)
    a = theory.best_parameter(sum_square, directions) if directions else 0.0
    return OneProjection(estimator=estimator, d=d, sum_square=sum_square, difference_square=difference_square, a=a)


def _points(setting: OneProjection) -> tuple[Float[Array, "1 d"], Float[Array, "1 d"]]:
    along, across = jnp.eye(setting.d)[:2]
    total = jnp.sqrt(jnp.asarray(setting.sum_square)) * along
    difference = jnp.sqrt(jnp.asarray(setting.difference_square)) * across
    return ((total + difference) / 2)[None], ((total - difference) / 2)[None]


def _parameters(setting: OneProjection) -> Float[Array, " d"]:
    """The parameter of each direction. The first direction is that of x + y."""
    every = jnp.full(setting.d, setting.a)
    return every.at[1:].set(0.0) if setting.estimator is Estimator.DENSE else every


def _features(
    setting: OneProjection, x: Float[Array, "t d"], projection: Float[Array, "m d"]
) -> Float[Array, "t f"]:
    if setting.estimator is Estimator.GENERALIZED:
        return generalized_exponential_features(x, projection, a=setting.a)
    if setting.estimator is Estimator.DENSE:
        return dense_exponential_features(x, projection, a=_parameters(setting), basis=jnp.eye(setting.d))
    return MAPS[setting.estimator](x, projection)


def _ratio(setting: OneProjection, projection: Float[Array, "m d"]) -> Float[Array, ""]:
    """The estimate of exp(x . y), divided by exp(x . y)."""
    x, y = _points(setting)
    estimate = jnp.sum(_features(setting, x, projection) * _features(setting, y, projection))
    return estimate * jnp.exp(-jnp.sum(x * y))


def _tilted(key: PRNGKeyArray, setting: OneProjection) -> tuple[Float[Array, "1 d"], Float[Array, ""]]:
    """A projection and its weight. Half of the projections are from N(0, I), half from where their features are
    large."""
    normal, coin, sign = jax.random.split(key, 3)
    if setting.estimator is Estimator.TRIGONOMETRIC:
        return gaussian_projection(normal, 1, setting.d), jnp.ones(())
    a = _parameters(setting)[None]
    spread = 1 - 8 * a
    x, y = _points(setting)
    mean = 2 * jnp.sqrt(1 - 4 * a) / spread * (x + y)
    either = jnp.where(jax.random.bernoulli(sign), 1.0, -1.0) if setting.estimator is Estimator.HYPERBOLIC else 1.0
    standard = gaussian_projection(normal, 1, setting.d)
    w = jnp.where(jax.random.bernoulli(coin), either * mean + standard / jnp.sqrt(spread), standard)

    def log_density(mean: Float[Array, "1 d"], spread: Array) -> Float[Array, ""]:
        return jnp.sum(jnp.log(spread)) / 2 - jnp.sum(spread * (w - mean) ** 2) / 2

    there = log_density(mean, spread)
    if setting.estimator is Estimator.HYPERBOLIC:
        there = jnp.logaddexp(there, log_density(-mean, spread)) - math.log(2)
    return w, 2 / (1 + jnp.exp(there - log_density(0 * mean, jnp.ones_like(spread))))


def _square(key: PRNGKeyArray, setting: OneProjection) -> Float[Array, ""]:
    """(estimate / exp(x . y) - 1)^2 for one projection, weighted to have its expectation under N(0, I)."""
    w, density = _tilted(key, setting)
    return density * (_ratio(setting, w) - 1) ** 2


def _in_formulas(setting: OneProjection) -> tuple[Estimator, int]:
    """The estimator and width for the formulas: dense features with one nonzero parameter are generalized ones of
    width 1."""
    dense = setting.estimator is Estimator.DENSE
    return (Estimator.GENERALIZED, 1) if dense else (setting.estimator, setting.d)


def _predicted(setting: OneProjection) -> float:
    estimator, d = _in_formulas(setting)
    return theory.relative_variance(estimator, setting.sum_square, setting.difference_square, d=d, a=setting.a)


def _bound(setting: OneProjection) -> Bound:
    return known_variance(1.01 * _square_variance(setting))


def _square_variance(setting: OneProjection) -> float:
    """An upper bound on the variance of a draw.

    Weights are at most 2, so that its second moment is at most twice the fourth central moment of the ratio.
    The draw itself is at most twice the ratio's second moment, because tilting is by the ratio's square.
    """
    if setting.estimator is Estimator.TRIGONOMETRIC:
        return theory.fourth_central_moment(setting.estimator, setting.difference_square) - _predicted(setting) ** 2
    estimator, d = _in_formulas(setting)
    fourth = 2 * theory.fourth_central_moment(estimator, setting.sum_square, d=d, a=setting.a)
    largest = 2 * (_predicted(setting) + 1)
    return min(fourth, largest * _predicted(setting)) - _predicted(setting) ** 2


RESOLUTION = 0.2

HYPOTHESES = {
    "L > 0 and D > 0: else the variance is zero": lambda s: s.sum_square > 0 and s.difference_square > 0,
    "L <= 10": lambda s: s.sum_square <= 10,
    "D <= 100": lambda s: s.difference_square <= 100,
    "trigonometric features: D <= 30": lambda s: (
        s.estimator is not Estimator.TRIGONOMETRIC or s.difference_square <= 30
    ),
    "a < 1/8": lambda s: s.a < 0.125,
    "a parameter of generalized or dense features": lambda s: (
        s.estimator in (Estimator.GENERALIZED, Estimator.DENSE) or s.a == 0
    ),
    "d >= 2": lambda s: s.d >= 2,
}

DISTANCES = (0.5, 1.5, 2.0, 4.0, 8.0, 16.0, 28.0)
SUM = 0.5


def _of_the_other(setting: OneProjection) -> float:
    """The relative variance of positive features for trigonometric ones, and the other way round."""
    positive = setting.estimator is Estimator.POSITIVE
    other = Estimator.TRIGONOMETRIC if positive else Estimator.POSITIVE
    return _predicted(dataclasses.replace(setting, estimator=other))


BREAKS = Claim(
    name="relative-variance-as-the-kernel-vanishes",
    statement=r"At fixed $L = \|x+y\|^2$, as $e^{x \cdot y} \to 0$, the relative variance of trigonometric "
    r"features grows without end, as $\cosh D - 1$; that of positive ones stays at $e^L - 1$.",
    source="mathematics/features.md#why-trigonometric-features-break; Choromanski et al. 2021, lemma 2; "
    "practical4/3h.2; practical4/3h.3",
    hypotheses=HYPOTHESES,
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_square,
    bound=_bound,
    resolution=lambda s: RESOLUTION * _predicted(s),
    rival=Rival(
        statement=r"Positive features suffer from a long $x - y$, and trigonometric ones do not.",
        source="the two laws exchanged",
        predict=lambda s: Interval.point(_of_the_other(s)),
    ),
    settings=tuple(
        one_projection(e, SUM, square)
        for e in (Estimator.TRIGONOMETRIC, Estimator.POSITIVE)
        for square in DISTANCES
    ),
    stream="pair-projections",
    chunk=1024,
)

TRIGONOMETRIC_HOLDS = foil(
    BREAKS,
    name="trigonometric-features-are-as-good-far-away",
    statement="Trigonometric features have the relative variance of positive ones at any distance.",
    source="mathematics/features.md#why-trigonometric-features-break; practical4/3h.2",
    predict=lambda s: Interval.at_most(math.expm1(s.sum_square)),
    # As many settings as the claim that it contradicts: both share one compiled draw. The same holds below.
    settings=tuple(
        one_projection(Estimator.TRIGONOMETRIC, SUM, square) for square in (2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 28.0)
    ),
)

POSITIVE_IS_SAFE = foil(
    BREAKS,
    name="positive-features-are-accurate-whenever-the-kernel-is-small",
    statement=r"Positive features have relative variance at most 1 wherever $e^{x \cdot y} \leq 10^{-3}$.",
    source="mathematics/features.md#why-trigonometric-features-break, x = -2y with |y| = 3 has a kernel of "
    "1.5e-8 and relative variance 8102; practical4/3h.3",
    predict=Interval.at_most(1.0),
    settings=(
        *(one_projection(Estimator.POSITIVE, square, square + 30.0) for square in (1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
        one_projection(Estimator.POSITIVE, 9.0, 81.0),
    ),
)


class OppositePoints(Setting):
    """A point of width d and norm `norm` and its negative, seen by m projections."""

    d: int
    m: int
    norm: float


def _opposites_error(key: PRNGKeyArray, setting: OppositePoints) -> Float[Array, ""]:
    """The largest relative error among estimates of exp(-|x|^2) from single projections."""
    return _largest_error(key, setting.norm, d=setting.d, m=setting.m)


@functools.partial(jax.jit, static_argnames=("d", "m"))
def _largest_error(key: PRNGKeyArray, norm: Scalar, *, d: int, m: int) -> Float[Array, ""]:
    point, rows = jax.random.split(key)
    x = jax.random.normal(point, (1, d))
    x = norm * x / jnp.linalg.norm(x)
    projection = gaussian_projection(rows, m, d)
    products = positive_features(x, projection) * positive_features(-x, projection)
    return jnp.max(jnp.abs(m * products * jnp.exp(jnp.sum(x**2)) - 1))


def _opposites_rounding(setting: OppositePoints) -> float:
    """Exponents of size |x|^2 / 2 + |w . x|, |w . x| <= 6 |x|, are off by d eps of that; there are three."""
    return 4 * EPS * (setting.d * (setting.norm**2 + 6 * setting.norm) + setting.d + 4)


OPPOSITES = exact_claim(
    name="positive-features-are-exact-at-opposites",
    statement=r"At $y = -x$ every single projection of positive features gives $e^{-\|x\|^2}$ exactly.",
    source="mathematics/features.md#why-trigonometric-features-break; practical4/3h.3",
    hypotheses=at_least(d=1, m=1, norm=0) | at_most(norm=4),
    predict=Interval.point(0.0),
    draw=_opposites_error,
    rounding=_opposites_rounding,
    rival=Rival(
        statement="Some projection is off by a hundredth.",
        source="the smallest error that would matter: the mean over 10,000 projections has it where L = 1",
        predict=Interval.at_least(0.01),
    ),
    settings=tuple(OppositePoints(d=WIDTH, m=64, norm=norm) for norm in (0.5, 1.0, 2.0, 3.0)),
)

SUMS = (0.4, 0.8, 2.0, 4.0, 6.0, 9.0)
DIFFERENCES = (0.3, 0.8, 2.0, 3.5, 5.0, 7.0, 9.0)
"""L and D in the phase diagram: fine enough to show where generalized exponential features win although D < L."""


def _counted(setting: OneProjection) -> int:
    """How many features the operator makes of one projection: read off the shape of what it returns."""
    one = jax.ShapeDtypeStruct((1, setting.d), jnp.float32)
    return jax.eval_shape(functools.partial(_features, setting), one, one).shape[1]


def per_feature(setting: OneProjection) -> float:
    """The number by which estimators are compared: predicted relative variance times features."""
    return regions.FEATURES_PER_PROJECTION[setting.estimator] * _predicted(setting)


def _grid(*estimators: Estimator) -> tuple[OneProjection, ...]:
    return tuple(
        one_projection(e, total, difference) for e in estimators for total in SUMS for difference in DIFFERENCES
    )


PHASES = dataclasses.replace(
    BREAKS,
    name="variance-at-equal-numbers-of-features",
    statement=r"At $F$ features the relative variance times $F$ is $e^L - 1$ for positive features, $V_d(L)$ for "
    "generalized and $V_1(L)$ for dense exponential ones at their best parameters: a projection makes one feature.",
    source="mathematics/features.md#which-estimator-is-best-where; Choromanski et al. 2021, lemma 2; "
    "Likhosherstov et al. 2022; Likhosherstov et al. 2023; practical4/3h.3",
    predict=lambda s: Interval.point(per_feature(s)),
    draw=lambda key, s: _counted(s) * _square(key, s),
    bound=lambda s: known_variance(1.01 * regions.FEATURES_PER_PROJECTION[s.estimator] ** 2 * _square_variance(s)),
    resolution=lambda s: {1: 0.3, 2: 0.24}[regions.FEATURES_PER_PROJECTION[s.estimator]] * per_feature(s),
    rival=Rival[OneProjection](
        statement="A projection makes two features, one of each sign.",
        source="the hyperbolic map, which its authors call positive as well, taken for the positive one",
        predict=lambda s: Interval.point(2 * _predicted(s)),
    ),
    settings=_grid(Estimator.POSITIVE, Estimator.GENERALIZED, Estimator.DENSE),
)

PAIRS = dataclasses.replace(
    PHASES,
    name="variance-of-features-that-come-in-pairs",
    statement=r"At $F$ features the relative variance times $F$ is $2(\cosh D - 1)$ for trigonometric and "
    r"$2(\cosh L - 1)$ for hyperbolic features: a projection makes two.",
    rival=Rival[OneProjection](
        statement=r"It is $\cosh D - 1$ and $\cosh L - 1$.",
        source="estimators compared at equal numbers of projections, not of features",
        predict=lambda s: Interval.point(_predicted(s)),
    ),
    settings=_grid(Estimator.TRIGONOMETRIC, Estimator.HYPERBOLIC),
)


POSITIVE_WINS_NEARBY = foil(
    PHASES,
    name="positive-features-beat-hyperbolic-ones-where-the-sum-is-short",
    statement=r"At equal numbers of features and small $L$ positive features have no more variance than hyperbolic "
    "ones, which spend two features on a projection.",
    source="mathematics/features.md#which-estimator-is-best-where, hyperbolic variance is 1 - exp(-L) of the "
    "positive at any L; Choromanski et al. 2021, lemma 2",
    predict=lambda s: Interval.at_most(per_feature(dataclasses.replace(s, estimator=Estimator.HYPERBOLIC))),
    settings=tuple(
        one_projection(Estimator.POSITIVE, total, difference)
        for total in (0.2, 0.4, 0.6, 0.9, 1.2)
        for difference in DIFFERENCES
    ),
)

CLAIMS = (BREAKS, TRIGONOMETRIC_HOLDS, POSITIVE_IS_SAFE, OPPOSITES, PHASES, PAIRS, POSITIVE_WINS_NEARBY)
