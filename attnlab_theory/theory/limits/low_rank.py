"""Which weights a head of width d can have, if its queries and keys are free (docs/mathematics/limits.md).

Log weights are scores minus one normalizer for each row. Centring every row removes the normalizers and leaves a
matrix of rank at most d. Every matrix of rank d is a product of some queries and keys. Hence weights P > 0 are
reachable if and only if the row-centred log P has rank at most d. It maps ones to zero, so width n - 1 is always
enough.
"""

import math

import numpy as np
import scipy.optimize


def centred_logarithm(weights: np.ndarray) -> np.ndarray:
    """log P minus the mean of each row, [t s]."""
    logarithm = np.log(weights)
    return logarithm - np.mean(logarithm, axis=1, keepdims=True)


def least_error(weights: np.ndarray, d: int) -> float:
    """The least Frobenius distance of the wanted centred log weights from those of a head of width d.

    It is the norm of the singular values after the first d.

    Source: Eckart and Young 1936.
    """
    left = np.linalg.svd(centred_logarithm(weights), compute_uv=False)[d:]
    return float(np.sqrt(np.sum(left**2)))


def error_at_least(weights: np.ndarray, d: int) -> float:
    """No head of width d brings all weights nearer than this e, with sum of ln(1 - e / P)^2 = least_error^2.

    Say that all weights are within e < P_min. Then each logarithm is within -ln(1 - e / P), and the centred
    matrices are within the root of the sum of squares. But they are at least `least_error` apart.

    Args:
        weights: [n n], positive, rows that add up to one.
        d: less than n.

    Source: docs/mathematics/limits.md#which-weights-a-narrow-head-can-have.
    """
    least, smallest = least_error(weights, d), float(np.min(weights))

    def beyond(logarithm: float) -> float:
        """Solved for -ln(1 - e / P_min), which is at most the distance. e itself is often P_min up to rounding."""
        return float(np.linalg.norm(np.log1p(smallest / weights * math.expm1(-logarithm)))) - least

    found = scipy.optimize.root_scalar(beyond, bracket=(0.0, least), xtol=1e-15)
    return -smallest * math.expm1(-float(found.root))


def circle_leak(n: int, strength: float) -> float:
    """The weight that a query along one of n keys on a circle gives to the others. Scores reach `strength`."""
    gaps = strength * (1 - np.cos(2 * np.pi * np.arange(1, n) / n))
    others = float(np.sum(np.exp(-gaps)))
    return others / (1 + others)
