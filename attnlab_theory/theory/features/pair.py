"""How the estimates of one query's kernel values vary together, for each kind of random features.

A pair of points enters only through p = q + k and b = q - k. One projection w estimates exp(q . k) times a ratio r
of mean one. The ratios of two keys have E[r r'] = exp(p . p') for positive features, cosh(p . p') for hyperbolic
and cosh(b . b') for trigonometric ones. The covariances are these minus one. Everything about a row of attention
follows.
"""

import math
from typing import assert_never

import numpy as np

from attnlab_theory.theory.features import variance as feature_error
from attnlab_theory.theory.features.estimator import Estimator

ESTIMATORS = (Estimator.TRIGONOMETRIC, Estimator.POSITIVE, Estimator.HYPERBOLIC, Estimator.GENERALIZED)
"""The estimators whose law depends on a pair of points through L or D alone."""


def relative_variance(
    estimator: Estimator, sum_square: float, difference_square: float, *, d: int, a: float = 0.0
) -> float:
    """Var[estimate] / exp(x . y)^2 for one projection.

    Args:
        estimator: one of `ESTIMATORS`.
        sum_square: L = |x + y|^2.
        difference_square: D = |x - y|^2.
        d: width. It matters to generalized exponential features only.
        a: the parameter of these, less than 1/8.

    Returns:
        cosh D - 1, e^L - 1, cosh L - 1, or the variance of generalized exponential features. Infinite past float64.

    Raises:
        ValueError: if there is no such estimator.

    Source: docs/mathematics/features.md; Likhosherstov et al. 2022, "Chefs' random tables".
    """
    match Estimator(estimator):
        case Estimator.TRIGONOMETRIC:
            return _cosh_less_one(difference_square)
        case Estimator.HYPERBOLIC:
            return _cosh_less_one(sum_square)
        case Estimator.POSITIVE:
            return _expm1(sum_square)
        case Estimator.GENERALIZED:
            return _expm1(log_moment(2, sum_square, d=d, a=a))
        case Estimator.DENSE as other:
            raise _none_of(ESTIMATORS, other)
        case unknown:
            assert_never(unknown)


def log_moment(power: int, sum_square: float, *, d: int, a: float) -> float:
    """log E[r^power], r = estimate / exp(x . y), of generalized exponential features; a = 0: of positive ones."""
    height = d * power * math.log1p(-4 * a) / 2 - d * math.log1p(-4 * power * a) / 2
    return height + sum_square * (power**2 * (1 - 4 * a) / (1 - 4 * power * a) - power) / 2


def fourth_central_moment(estimator: Estimator, square: float, *, d: int = 1, a: float = 0.0) -> float:
    """E[(r - 1)^4] of one projection's estimate r = estimate / exp(x . y).

    Args:
        estimator: one of `ESTIMATORS`.
        square: D of trigonometric features, L of all others.
        d: width. It matters to generalized exponential features only.
        a: the parameter of these, less than 1/16.

    Raises:
        ValueError: if there is no such estimator, or a third moment leaves float64.
    """
    laws = {
        Estimator.TRIGONOMETRIC: feature_error.trigonometric,
        Estimator.POSITIVE: feature_error.positive,
        Estimator.HYPERBOLIC: feature_error.hyperbolic,
        Estimator.GENERALIZED: lambda length: feature_error.generalized(length, d, a),
    }
    if Estimator(estimator) not in laws:
        raise _none_of(ESTIMATORS, estimator)
    second, third, fourth = (feature_error.moment(laws[estimator](square), power) for power in (2, 3, 4))
    found = fourth - 4 * third + 6 * second - 3
    if math.isnan(found):
        raise ValueError(f"third moments leave float64 at a squared length of {square:.6g}: scale the points down")
    # A difference of moments: where nothing varies, rounding may leave it a little below 0.
    return max(found, 0.0)


def best_parameter(sum_square: float, d: int) -> float:
    """The parameter a of generalized exponential features with the least variance at L = |x + y|^2.

    Source: docs/mathematics/features.md; Likhosherstov et al. 2022, in the form without cancellation.
    """
    length = math.sqrt((2 * sum_square + d) ** 2 + 8 * d * sum_square) + 2 * sum_square + d
    return (1 - length / (2 * d)) / 8


def covariances(estimator: Estimator, q: np.ndarray, k: np.ndarray, *, a: float | np.ndarray = 0.0) -> np.ndarray:
    """Relative covariances [s s] of the estimates of exp(q . k_s) for one projection; infinite past float64.

    Args:
        estimator: one of `ESTIMATORS`.
        q: the query, [d]. Query and keys are multiplied by the root of the scale.
        k: keys, [s d].
        a: the parameter of generalized exponential features, or one for each coordinate.

    Raises:
        ValueError: if there is no such estimator.
    """
    with np.errstate(over="ignore"):
        match Estimator(estimator):
            case Estimator.TRIGONOMETRIC:
                return 2 * np.sinh(_gram(q - k) / 2) ** 2
            case Estimator.HYPERBOLIC:
                return 2 * np.sinh(_gram(q + k) / 2) ** 2
            case Estimator.POSITIVE:
                return np.expm1(_gram(q + k))
            case Estimator.GENERALIZED:
                return _generalized_covariances(q, k, a)
            case Estimator.DENSE as other:
                raise _none_of(ESTIMATORS, other)
            case unknown:
                assert_never(unknown)


def _generalized_covariances(q: np.ndarray, k: np.ndarray, a: float | np.ndarray) -> np.ndarray:
    p, a = q + k, np.broadcast_to(np.asarray(a, np.float64), q.shape)
    height = np.sum(np.log1p(-4 * a) - np.log1p(-8 * a) / 2)
    # (1-4a)/(1-8a) |p + p'|^2 / 2 less the two halves of |p|^2, without their cancellation at a = 0.
    stretch = (1 - 4 * a) / (1 - 8 * a)
    alone = np.sum((stretch - 1) * p**2, axis=1) / 2
    return np.expm1(height + alone[:, None] + alone[None, :] + (p * stretch) @ p.T)


def third_moments(estimator: Estimator, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """E[r_i r_j r_l] [s s s] of trigonometric, positive or hyperbolic estimates of one projection.

    Raises:
        ValueError: if the estimator is none of these, or a moment leaves float64.
    """
    with np.errstate(over="ignore"):
        found = _third_moments(estimator, q, k)
    if not np.all(np.isfinite(found)):
        raise beyond_float64(q, k)
    return found


def _third_moments(estimator: Estimator, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    match Estimator(estimator):
        case Estimator.POSITIVE:
            return np.exp(_signed_sum(_gram(q + k), (1, 1, 1)))
        # A product of three cosines is a mean of four.
        case Estimator.HYPERBOLIC:
            return np.mean([np.exp(_signed_sum(_gram(q + k), signs)) for signs in EVEN], axis=0)
        case Estimator.TRIGONOMETRIC:
            return np.mean([np.exp(-_signed_sum(_gram(q - k), signs)) for signs in EVEN], axis=0)
        case Estimator.GENERALIZED | Estimator.DENSE as other:
            raise _none_of(ESTIMATORS[:3], other)
        case unknown:
            assert_never(unknown)


EVEN = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
"""The signs of the products of pairs among three numbers, each of either sign."""


def _signed_sum(products: np.ndarray, signs: tuple[int, int, int]) -> np.ndarray:
    ij, jl, il = signs
    return ij * products[:, :, None] + jl * products[None, :, :] + il * products[:, None, :]


def beyond_float64(q: np.ndarray, k: np.ndarray) -> ValueError:
    """The error about estimates whose moments leave float64."""
    longest = float(np.max(np.linalg.norm(np.concatenate([q + k, q - k]), axis=1)))
    return ValueError(
        f"queries and keys whose sums or differences are {longest:.3g} long have estimates whose moments leave "
        "float64: scale them down"
    )


def _none_of(known: tuple[Estimator, ...], estimator: Estimator) -> ValueError:
    return ValueError(f"the estimator must be one of {', '.join(known)}, not {str(estimator)!r}")


def _gram(points: np.ndarray) -> np.ndarray:
    points = np.asarray(points, np.float64)
    return points @ points.T


def _cosh_less_one(x: float) -> float:
    """cosh x - 1, with all its digits near zero."""
    return 2 * math.sinh(x / 2) ** 2 if abs(x) < 700 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700 else math.inf
