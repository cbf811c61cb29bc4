"""How the estimates of one query's kernel values vary together, for each kind of random features.

A pair of points enters only through p = q + k and b = q - k. One projection w estimates exp(q . k) times a ratio
r of mean one, and the ratios of two keys have E[r r'] = exp(p . p') for positive features, cosh(p . p') for
hyperbolic and cosh(b . b') for trigonometric ones: the covariances are these less one. Everything about a row of
attention follows from them.
"""

import math

import numpy as np

from attnlab_theory.theory.features import variance as feature_error

ESTIMATORS = ("trigonometric", "positive", "hyperbolic", "generalized exponential")

FEATURES_PER_PROJECTION = {"trigonometric": 2, "positive": 1, "hyperbolic": 2, "generalized exponential": 1}
"""At equal numbers of features, trigonometric and hyperbolic ones get half the projections."""


def relative_variance(
    estimator: str, sum_square: float, difference_square: float, *, d: int, a: float = 0.0
) -> float:
    """Var[estimate] / exp(x . y)^2 for one projection.

    Args:
        estimator: one of `ESTIMATORS`.
        sum_square: L = |x + y|^2.
        difference_square: D = |x - y|^2.
        d: width; matters to generalised exponential features only.
        a: their parameter, less than 1/8.

    Returns:
        cosh D - 1, e^L - 1, cosh L - 1, or that of generalised exponential features; infinite past float64.

    Raises:
        ValueError: if there is no such estimator.

    Source: claims G.2, G.4; Likhosherstov et al. 2022, "Chefs' random tables".
    """
    _refuse_unknown(estimator)
    if estimator == "trigonometric":
        return _cosh_less_one(difference_square)
    if estimator == "hyperbolic":
        return _cosh_less_one(sum_square)
    if estimator == "positive":
        return _expm1(sum_square)
    return _expm1(log_moment(2, sum_square, d=d, a=a))


def log_moment(power: int, sum_square: float, *, d: int, a: float) -> float:
    """log E[r^power], r = estimate / exp(x . y), of generalised exponential features; a = 0: of positive ones."""
    height = d * power * math.log1p(-4 * a) / 2 - d * math.log1p(-4 * power * a) / 2
    return height + sum_square * (power**2 * (1 - 4 * a) / (1 - 4 * power * a) - power) / 2


def fourth_central_moment(estimator: str, square: float, *, d: int = 1, a: float = 0.0) -> float:
    """E[(r - 1)^4] of one projection's estimate r = estimate / exp(x . y).

    Args:
        estimator: one of `ESTIMATORS`.
        square: D of trigonometric features, L of all others.
        d, a: of generalised exponential features; a less than 1/16.

    Raises:
        ValueError: if there is no such estimator.
    """
    _refuse_unknown(estimator)
    laws = {
        "trigonometric": feature_error.trigonometric,
        "positive": feature_error.positive,
        "hyperbolic": feature_error.hyperbolic,
        "generalized exponential": lambda length: feature_error.generalized(length, d, a),
    }
    second, third, fourth = (feature_error.moment(laws[estimator](square), power) for power in (2, 3, 4))
    return fourth - 4 * third + 6 * second - 3


def best_parameter(sum_square: float, d: int) -> float:
    """The parameter a of generalised exponential features with the least variance at L = |x + y|^2.

    Source: claims G.4; Likhosherstov et al. 2022, in the form without cancellation.
    """
    length = math.sqrt((2 * sum_square + d) ** 2 + 8 * d * sum_square) + 2 * sum_square + d
    return (1 - length / (2 * d)) / 8


def variance_per_feature(estimator: str, sum_square: float, difference_square: float, *, d: int) -> float:
    """Relative variance times the number of features: what estimators are compared by at equal numbers of features.

    Generalised exponential features get the parameter that suits this very pair best.
    """
    a = best_parameter(sum_square, d) if estimator == "generalized exponential" else 0.0
    variance = relative_variance(estimator, sum_square, difference_square, d=d, a=a)
    return FEATURES_PER_PROJECTION[estimator] * variance


def winner(sum_square: float, difference_square: float, *, d: int) -> str:
    """The estimator of least variance at equal numbers of features; the first of `ESTIMATORS` if some are equal."""
    return min(ESTIMATORS, key=lambda e: variance_per_feature(e, sum_square, difference_square, d=d))


def covariances(estimator: str, q: np.ndarray, k: np.ndarray, *, a: float | np.ndarray = 0.0) -> np.ndarray:
    """Relative covariances [s s] of the estimates of exp(q . k_s) for one projection; infinite past float64.

    Args:
        estimator: one of `ESTIMATORS`.
        q: the query, [d], multiplied by the root of the scale like the keys.
        k: keys, [s d].
        a: the parameter of generalised exponential features, or one for each coordinate.

    Raises:
        ValueError: if there is no such estimator.
    """
    _refuse_unknown(estimator)
    with np.errstate(over="ignore"):
        if estimator == "trigonometric":
            return 2 * np.sinh(_gram(q - k) / 2) ** 2
        if estimator == "hyperbolic":
            return 2 * np.sinh(_gram(q + k) / 2) ** 2
        if estimator == "positive":
            return np.expm1(_gram(q + k))
        p, a = q + k, np.broadcast_to(np.asarray(a, np.float64), q.shape)
        height = np.sum(np.log1p(-4 * a) - np.log1p(-8 * a) / 2)
        # (1-4a)/(1-8a) |p + p'|^2 / 2 less the two halves of |p|^2, without their cancellation at a = 0.
        stretch = (1 - 4 * a) / (1 - 8 * a)
        alone = np.sum((stretch - 1) * p**2, axis=1) / 2
        return np.expm1(height + alone[:, None] + alone[None, :] + (p * stretch) @ p.T)


def third_moments(estimator: str, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """E[r_i r_j r_l] [s s s] of trigonometric, positive or hyperbolic estimates of one projection.

    Raises:
        ValueError: if the estimator is none of these.
    """
    _refuse_unknown(estimator, ESTIMATORS[:3])
    if estimator == "positive":
        return np.exp(_signed_sum(_gram(q + k), (1, 1, 1)))
    # A product of three cosines is a mean of four.
    if estimator == "hyperbolic":
        return np.mean([np.exp(_signed_sum(_gram(q + k), signs)) for signs in EVEN], axis=0)
    return np.mean([np.exp(-_signed_sum(_gram(q - k), signs)) for signs in EVEN], axis=0)


EVEN = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
"""The signs of the products of pairs among three numbers, each of either sign."""


def _signed_sum(products: np.ndarray, signs: tuple[int, int, int]) -> np.ndarray:
    ij, jl, il = signs
    return ij * products[:, :, None] + jl * products[None, :, :] + il * products[:, None, :]


def _refuse_unknown(estimator: str, known: tuple[str, ...] = ESTIMATORS) -> None:
    if estimator not in known:
        raise ValueError(f"the estimator must be one of {', '.join(known)}, not {estimator!r}")


def _gram(points: np.ndarray) -> np.ndarray:
    points = np.asarray(points, np.float64)
    return points @ points.T


def _cosh_less_one(x: float) -> float:
    """cosh x - 1, with all its digits near zero."""
    return 2 * math.sinh(x / 2) ** 2 if abs(x) < 700 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700 else math.inf
