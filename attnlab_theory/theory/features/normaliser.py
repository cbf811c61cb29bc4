"""How often the normaliser of a row, estimated by trigonometric features, is not positive.

See docs/mathematics/features.md.
"""

import math

import numpy as np
import scipy.special

from attnlab_theory.theory.features import pair
from attnlab_theory.theory.features.estimator import Estimator


def not_positive(q: np.ndarray, k: np.ndarray, *, m: int) -> tuple[float, float]:
    """P(normaliser <= 0) for one query with m independent projections, and how far that may be off.

    The normaliser is a mean over projections. Its law is taken as normal, with the first correction for skewness
    (Edgeworth). Variance and third cumulant of one projection are exact.

    Args:
        q: the query, [d]. Query and keys are multiplied by the root of the scale.
        k: keys, [s d].
        m: projections.

    Returns:
        The probability, and the size of the correction for skewness. What is left out is smaller, of order 1 / m.

    Raises:
        ValueError: if a moment leaves float64.
    """
    variance, third = cumulants(q, k)
    if variance <= m / 40**2:
        return 0.0, 0.0  # Forty deviations away, or no deviation at all: float64 holds no such chance.
    deviation = math.sqrt(variance)
    z = -math.sqrt(m) / deviation
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    correction = -third / deviation**3 * (z**2 - 1) * density / (6 * math.sqrt(m))
    return float(np.clip(scipy.special.ndtr(z) + correction, 0, 1)), abs(correction)


def not_positive_if_keys_err_alike(q: np.ndarray, k: np.ndarray, *, m: int) -> float:
    """P(normaliser <= 0) by the normal law, if the errors of all keys were the same number times their sizes.

    Args:
        q: the query, [d]. Query and keys are multiplied by the root of the scale.
        k: keys, [s d].
        m: projections.
    """
    weights = scipy.special.softmax(k @ q)
    deviation = float(weights @ np.sqrt(np.diag(pair.covariances(Estimator.TRIGONOMETRIC, q, k))))
    return float(scipy.special.ndtr(-math.sqrt(m) / deviation))


def not_positive_if_normal(estimator: Estimator, q: np.ndarray, k: np.ndarray, *, m: int) -> float:
    """P(normaliser <= 0) if it were a normal number of its mean and variance.

    Args:
        estimator: which features the normaliser is made of.
        q: the query, [d]. Query and keys are multiplied by the root of the scale.
        k: keys, [s d].
        m: projections.
    """
    weights = scipy.special.softmax(k @ q)
    deviation = math.sqrt(weights @ pair.covariances(estimator, q, k) @ weights)
    return float(scipy.special.ndtr(-math.sqrt(m) / deviation))


def cumulants(q: np.ndarray, k: np.ndarray) -> tuple[float, float]:
    """Second and third cumulant of one projection's normaliser, in units of the exact normaliser.

    Raises:
        ValueError: if a moment leaves float64.
    """
    moments = pair.third_moments(Estimator.TRIGONOMETRIC, q, k)
    weights = scipy.special.softmax(k @ q)
    variance = float(weights @ pair.covariances(Estimator.TRIGONOMETRIC, q, k) @ weights)
    return variance, float(np.einsum("ijl,i,j,l->", moments, weights, weights, weights)) - 1 - 3 * variance
