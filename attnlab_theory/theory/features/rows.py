"""A row of attention from random features is a ratio of two means: its bias and its variance by the delta method.

Over m projections the numerator less c times the normaliser is e = sum_s alpha_s (v_s - c) r_s, in units of the
exact normaliser, and the normaliser is 1 + n. Then c' - c = e / (1 + n) = e (1 - n + n^2 - ...), and moments of e
and n are those of one projection over m, m^2, ...
"""

from typing import NamedTuple

import numpy as np
import scipy.special

from attnlab_theory.theory.features import pair
from attnlab_theory.theory.features.estimator import Estimator


def bias(estimator: Estimator, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, m: int) -> tuple[float, float]:
    """m times the bias of one output for m projections: the delta method, and the next term of its series.

    Args:
        estimator: trigonometric, positive or hyperbolic.
        q: the query, [d].
        k: keys, [s d].
        v: one value of each key, [s].
        m: projections, independent.

    Returns:
        -E[e n], and (E[e n^2] - 3 E[e n] E[n^2]) / m: with both the error is of order 1 / m^2.
    """
    of = _moments(estimator, q, k, v)
    return -of.en, (of.enn - 3 * of.en * of.nn) / m


def squared_error(
    estimator: Estimator, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, m: int
) -> tuple[float, float]:
    """m times the mean square error of one output for m projections: the delta method, and the next term.

    Args: as `bias`.

    Returns:
        E[e^2], and (-2 E[e^2 n] + 3 E[e^2] E[n^2] + 6 E[e n]^2) / m.
    """
    of = _moments(estimator, q, k, v)
    return of.ee, (-2 * of.een + 3 * of.ee * of.nn + 6 * of.en**2) / m


def row_errors(covariances: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Variances [s] of a row's normalised weights, times the number of projections, by the delta method.

    Args:
        covariances: relative, of one projection, [s s].
        weights: the exact ones, [s].
    """
    with np.errstate(invalid="ignore", over="ignore"):
        common = covariances @ weights
        relative = np.diag(covariances) - 2 * common + weights @ common
        return weights**2 * np.maximum(relative, 0)


class _Moments(NamedTuple):
    """E[e^2], E[e n], E[n^2], E[e n^2] and E[e^2 n], the cumulants of one projection."""

    ee: float
    en: float
    nn: float
    enn: float
    een: float


def _moments(estimator: Estimator, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> _Moments:
    weights = scipy.special.softmax(k @ q)
    along = weights * (v - weights @ v)
    covariances = pair.covariances(estimator, q, k)
    pairs = covariances[:, :, None] + covariances[None, :, :] + covariances[:, None, :]
    third = pair.third_moments(estimator, q, k) - 1 - pairs
    return _Moments(
        ee=float(along @ covariances @ along),
        en=float(along @ covariances @ weights),
        nn=float(weights @ covariances @ weights),
        enn=float(np.einsum("ijl,i,j,l->", third, along, weights, weights)),
        een=float(np.einsum("ijl,i,j,l->", third, along, along, weights)),
    )
