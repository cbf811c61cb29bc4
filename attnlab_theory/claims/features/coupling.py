"""What coupled projections gain: exactly for orthogonal ones, as a bound for quasi-random ones.

See docs/mathematics/features.md.
"""

import dataclasses
import math

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.features import pair as problem
from attnlab_theory.claims.features.pair import PairOfPoints, pair
from attnlab_theory.sampling import Coupling
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.features import variance as theory
from attnlab_theory.theory.features.estimator import Estimator

WIDTHS = (2, 4, 16)
CHUNK = 256


def _orthogonal(estimator: Estimator, d: int, m: int, square: float = 0.5) -> PairOfPoints:
    return pair(estimator, m, square, square, d=d, coupling=Coupling.ORTHOGONAL)


def _independent_error(setting: PairOfPoints) -> float:
    return theory.mean_squared_error(problem.powers(setting), setting.m)


def _gain(setting: PairOfPoints) -> float:
    """By how much the coupling lowers the error of independent projections."""
    return _independent_error(setting) - problem.error(setting)


NO_GAIN = Rival[PairOfPoints](
    statement="Coupled projections err as much as independent ones.",
    source="the covariance of two projections left out",
    predict=lambda s: Interval.point(_independent_error(s)),
)


INDEPENDENT = "independent projections", _independent_error
"""With what coupled projections are compared."""

ERROR = Claim(
    name="orthogonal-feature-error",
    statement=r"Orthogonal projections (norms $\chi_d$, blocks of $d$) change the error by the covariance of a "
    r"pair, exactly: MSE = MSE(independent) + $C\,\sum_b m_b(m_b-1)/m^2$.",
    source="mathematics/features.md#orthogonal-projections; Yu et al. 2016; practical4/3h.4",
    hypotheses=problem.HYPOTHESES | problem.ORTHOGONAL | problem.SQUARED,
    predict=lambda s: Interval.point(problem.error(s)),
    draw=problem.draw,
    bound=problem.squared_error_bound,
    resolution=lambda s: min(0.2 * problem.error(s), 0.45 * _gain(s)),
    # At small widths positive features gain a few percent, too little for plain draws of their squared errors.
    settings=(
        _orthogonal(Estimator.POSITIVE, 16, 16),
        *(_orthogonal(Estimator.HYPERBOLIC, d, d) for d in WIDTHS[1:]),
        *(_orthogonal(Estimator.TRIGONOMETRIC, d, d) for d in WIDTHS),
        _orthogonal(Estimator.HYPERBOLIC, 8, 20),
    ),
    rival=NO_GAIN,
    compared=INDEPENDENT,
    stream="orthogonal-products",
    chunk=CHUNK,
)


def _published(setting: PairOfPoints) -> float:
    shift = theory.published_orthogonal_covariance(setting.sum_square, setting.d)
    return _independent_error(setting) + (1 - 1 / setting.m) * shift


PUBLISHED = dataclasses.replace(
    ERROR,
    name="published-orthogonal-bound",
    statement=r"Orthogonality takes at least $(1-\frac{1}{m})\frac{2}{d+2}(\mathrm{SM} - "
    r"e^{-(\|x\|^2+\|y\|^2)/2})^2$, $m \leq d$, off the mean squared error of hyperbolic features: the gain "
    "published for positive ones, whose projections have the same covariance.",
    source="mathematics/features.md#orthogonal-projections; Choromanski et al. 2021, theorem 2; practical4/3h.4",
    hypotheses={
        **ERROR.hypotheses,
        "hyperbolic features": lambda s: s.estimator is Estimator.HYPERBOLIC,
        "m <= d": lambda s: s.m <= s.d,
    },
    predict=lambda s: Interval.at_most(_published(s)),
    # Narrower than the distance from the exact error to the bound: support needs draws that stay below the bound.
    resolution=lambda s: 0.45 * (_independent_error(s) - _published(s)),
    settings=(
        _orthogonal(Estimator.HYPERBOLIC, 8, 8),
        _orthogonal(Estimator.HYPERBOLIC, 16, 16),
        _orthogonal(Estimator.HYPERBOLIC, 16, 16, square=1.0),
    ),
)

FLIPPED = foil(
    PUBLISHED,
    name="published-orthogonal-bound-flipped",
    statement=r"Orthogonality adds at least $(1-\frac{1}{m})\frac{2}{d+2}(\mathrm{SM} - "
    r"e^{-(\|x\|^2+\|y\|^2)/2})^2$, $m \leq d$, to the mean squared error of hyperbolic features: the published "
    "gain with its sign flipped.",
    source="mathematics/features.md#orthogonal-projections, with a sign flipped; Choromanski et al. 2021, "
    "theorem 2; practical4/3h.4",
    predict=lambda s: Interval.at_least(2 * _independent_error(s) - _published(s)),
)

QUASI = dataclasses.replace(
    ERROR,
    name="quasi-monte-carlo-error",
    statement="Sixteen scrambled Sobol points in four dimensions err by less than half of what sixteen "
    "independent projections do, in mean square.",
    source="mathematics/features.md#quasi-random-projections, no published constant: the half is ours; Owen "
    "1995, for the principle",
    hypotheses=problem.HYPOTHESES
    | problem.QUASI
    | problem.SQUARED
    | {
        "m = 16": lambda s: s.m == 16,
        "projections = 16": lambda s: s.projections == 16,
        "d = 4": lambda s: s.d == 4,
        "1 <= D <= 2": lambda s: 1 <= s.difference_square <= 2,
    },
    predict=lambda s: Interval.at_most(_independent_error(s) / 2),
    compared=INDEPENDENT,
    # |f| <= e^(D/2) for a trigonometric product, and so for a mean of such products.
    bound=lambda s: bounded(0.0, 1.001 * (math.exp(s.difference_square / 2) + 1) ** 2),
    resolution=lambda s: 0.2 * _independent_error(s),
    rival=NO_GAIN,
    settings=tuple(
        pair(Estimator.TRIGONOMETRIC, 16, 1.5, square, d=4, coupling=Coupling.QUASI_MONTE_CARLO)
        for square in (1.25, 1.5, 1.75)
    ),
)

CLAIMS = (ERROR, PUBLISHED, FLIPPED, QUASI)
