"""Which random features have the least variance at equal numbers of features (docs/mathematics/features.md)."""

import math

import scipy.optimize

from attnlab_theory.theory.features import pair
from attnlab_theory.theory.features.estimator import Estimator

FEATURES_PER_PROJECTION = {
    Estimator.TRIGONOMETRIC: 2,
    Estimator.POSITIVE: 1,
    Estimator.HYPERBOLIC: 2,
    Estimator.GENERALIZED: 1,
}
"""At equal numbers of features, trigonometric and hyperbolic ones get half the projections."""


def variance_per_feature(estimator: Estimator, sum_square: float, difference_square: float, *, d: int) -> float:
    """Relative variance times the number of features: what estimators are compared by at equal numbers of features.

    Generalized exponential features get the parameter that suits this very pair best.
    """
    a = pair.best_parameter(sum_square, d) if Estimator(estimator) is Estimator.GENERALIZED else 0.0
    variance = pair.relative_variance(estimator, sum_square, difference_square, d=d, a=a)
    return FEATURES_PER_PROJECTION[estimator] * variance


def winner(sum_square: float, difference_square: float, *, d: int) -> Estimator:
    """The estimator of least variance at equal numbers of features; of equal ones the first."""
    return min(pair.ESTIMATORS, key=lambda e: variance_per_feature(e, sum_square, difference_square, d=d))


def trigonometric_border(sum_square: float, *, d: int) -> float:
    """The D below which trigonometric features have the least variance at this L, at equal numbers of features.

    Theirs is 2 (cosh D - 1) per feature and grows with D; that of all others depends on L alone.
    """
    others = (e for e in pair.ESTIMATORS if e is not Estimator.TRIGONOMETRIC)
    return math.acosh(1 + min(variance_per_feature(e, sum_square, 0.0, d=d) for e in others) / 2)


def hyperbolic_border(*, d: int) -> float:
    """The L below which hyperbolic features have less variance than generalized exponential ones."""

    def ahead(sum_square: float) -> float:
        hyperbolic, generalized = (
            variance_per_feature(e, sum_square, 0.0, d=d) for e in (Estimator.HYPERBOLIC, Estimator.GENERALIZED)
        )
        return math.log(generalized / hyperbolic)

    return float(scipy.optimize.root_scalar(ahead, bracket=(1e-3, 50.0)).root)
