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
    Estimator.DENSE: 1,
}
"""How many features a projection gives. With two, an estimator needs half the projections."""


def variance_per_feature(estimator: Estimator, sum_square: float, difference_square: float, *, d: int) -> float:
    """Relative variance times the number of features. It compares estimators at equal numbers of features.

    Generalized exponential features get the parameter that is best for this pair. So do dense ones. For them only
    the direction of x + y matters: across it the best parameter is 0, and the variance is that of d = 1.
    """
    estimator = Estimator(estimator)
    per_projection = FEATURES_PER_PROJECTION[estimator]
    if estimator is Estimator.DENSE:
        estimator, d = Estimator.GENERALIZED, 1
    a = pair.best_parameter(sum_square, d) if estimator is Estimator.GENERALIZED else 0.0
    return per_projection * pair.relative_variance(estimator, sum_square, difference_square, d=d, a=a)


def winner(sum_square: float, difference_square: float, *, d: int) -> Estimator:
    """The estimator of least variance at equal numbers of features. If several are equal, the first."""
    return min(FEATURES_PER_PROJECTION, key=lambda e: variance_per_feature(e, sum_square, difference_square, d=d))


def trigonometric_border(sum_square: float, other: Estimator = Estimator.DENSE, *, d: int) -> float:
    """The D below which trigonometric features have less variance at this L than hyperbolic and `other` ones.

    Theirs is 2 (cosh D - 1) per feature and grows with D; that of all others depends on L alone.
    """
    others = (Estimator.HYPERBOLIC, other)
    return math.acosh(1 + min(variance_per_feature(e, sum_square, 0.0, d=d) for e in others) / 2)


def hyperbolic_border(other: Estimator = Estimator.DENSE, *, d: int) -> float:
    """The L below which hyperbolic features have less variance than dense, or generalized, exponential ones."""

    def ahead(sum_square: float) -> float:
        hyperbolic, exponential = (
            variance_per_feature(e, sum_square, 0.0, d=d) for e in (Estimator.HYPERBOLIC, other)
        )
        return math.log(exponential / hyperbolic)

    return float(scipy.optimize.root_scalar(ahead, bracket=(1e-3, 50.0)).root)
