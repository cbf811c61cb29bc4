"""What random features estimate when coupled projections bias them (docs/mathematics/features.md)."""

import math

import scipy.special


def fixed_norm_mean(length: float, d: int) -> float:
    """E of the relative estimate by positive or hyperbolic features whose projections all have norm sqrt(d).

    Source: the generating function of a uniform direction, 0F1(; d/2; dL/4); docs/mathematics/features.md.
    """
    return math.exp(-length / 2) * float(scipy.special.hyp0f1(d / 2, d * length / 4))


def fixed_norm_variance(length: float, d: int, m: int) -> float:
    """Variance of that estimate by positive features from m <= d orthogonal projections of norm sqrt(d)."""
    # The sum of two orthogonal directions has norm sqrt(2) and a uniform direction.
    twice, pair = (math.exp(-length) * float(scipy.special.hyp0f1(d / 2, c * d * length)) for c in (1, 1 / 2))
    return twice / m + (1 - 1 / m) * pair - fixed_norm_mean(length, d) ** 2
