"""A row of attention from random features is a ratio of two means. Its law, exactly and by the delta method.

Take means over m projections, in units of the exact normaliser. The numerator minus c times the normaliser is
e = sum_s alpha_s (v_s - c) r_s. The normaliser is D = sum_s alpha_s r_s, with mean 1. The error of the output is
e / D. Positive features make D positive. Then 1/D is the integral of e^(-tD) dt, so expectations of e / D are
integrals over t of products of expectations for one projection.
"""

import math
from typing import assert_never

import numpy as np
import scipy.special

from attnlab_theory.theory.features import pair
from attnlab_theory.theory.features.estimator import Estimator

STEP = 0.15
"""The distance of nodes in the quadrature over one coordinate of a projection. For Gaussian integrals the trapezoid
rule converges faster than any power. Unlike Gauss's rule it stays accurate where the integrand oscillates."""

LOG_STEP, RADIANS = 0.02, 0.25
"""The distances of nodes where a characteristic function is integrated: in ln t, and in radians of the bulk."""

MOST_STEPS = 20_000
"""The most steps along a characteristic function. That of eight projections or more has died away long before."""

MISSED = 1e-6
"""The largest part of the law of a ratio or of 1/D that a quadrature may miss."""

CHANCE_ERROR = 5e-4
"""The error of `chance_within`: four times the change when both steps of its two integrals are halved."""

_DEPTH = np.linspace(-14.0, 14.0, 561)
"""The range of ln t. Below it lies less than 1e-6 of the integrals, and above it the integrands have died away."""


def delta_method(
    estimator: Estimator, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, m: int
) -> tuple[float, float]:
    """Bias and mean square error of one output for m projections, to first order in 1/m.

    Args:
        estimator: trigonometric, positive or hyperbolic.
        q: the query, [d].
        k: keys, [s d].
        v: one value of each key, [s].
        m: projections, independent.

    Returns:
        -E[e n] / m and E[e^2] / m, with e and n = D - 1 of one projection.

    Raises:
        ValueError: if a covariance leaves float64.

    Source: docs/mathematics/features.md#a-row-of-attention-is-a-ratio.
    """
    weights = scipy.special.softmax(k @ q)
    along = weights * (v - weights @ v)
    covariances = pair.covariances(estimator, q, k)
    if not np.all(np.isfinite(covariances)):
        raise pair.beyond_float64(q, k)
    return -float(along @ covariances @ weights) / m, float(along @ covariances @ along) / m


def error_moments(
    estimator: Estimator, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, m: int
) -> tuple[float, float]:
    """Bias and mean square error of one output for m projections, exactly.

    Args:
        estimator: positive or hyperbolic.
        q: the query, [d], with d at most 2: the expectation of one projection is a quadrature in d dimensions.
        k: keys, [s d].
        v: one value of each key, [s].
        m: projections, independent.

    Raises:
        ValueError: if the estimator's features may be negative, d is larger than 2, or queries and keys are too
            long for the quadrature.

    Source: docs/mathematics/features.md#a-row-of-attention-is-a-ratio.
    """
    chances, ratios = _one_projection(estimator, q, k)
    weights = scipy.special.softmax(k @ q)
    error, normaliser = ratios @ (weights * (v - weights @ v)), ratios @ weights
    t = np.exp(_DEPTH)
    decay = np.exp(-np.outer(t / m, normaliser))
    # Ratios have mean 1, and at the end of the integral over t nothing may be left of it.
    missed = float(np.max(np.abs(chances @ ratios - 1)))
    left = float(decay[-1] @ chances) ** m
    if not max(missed, left) < MISSED:
        longest = float(np.max(np.linalg.norm(q + k, axis=1)))
        raise ValueError(
            f"queries and keys with |q + k| up to {longest:.3g} are too long for the quadrature, which misses "
            f"{max(missed, left):.2g} of their law: scale them down, or take more projections than {m}"
        )
    none, once, twice = (decay @ (chances * error**power) for power in (0, 1, 2))
    mean = once * none ** (m - 1)
    square = twice * none ** (m - 1) / m + (1 - 1 / m) * once**2 * none ** (m - 2) if m > 1 else twice
    return float(np.trapezoid(mean * t, _DEPTH)), float(np.trapezoid(square * t**2, _DEPTH))


def chance_within(
    estimator: Estimator, q: np.ndarray, k: np.ndarray, key: int, *, m: int, distance: float
) -> float:
    """P(|w - alpha| <= distance) for the weight w that m projections give to one key, to within `CHANCE_ERROR`.

    w exceeds x exactly if the numerator minus x times the normaliser is positive, and that is a mean over
    projections.

    Args:
        estimator: positive or hyperbolic.
        q: the query, [d], with d at most 2.
        k: keys, [s d].
        key: the number of the key.
        m: projections, independent.
        distance: from the exact weight.

    Raises:
        ValueError: if the estimator's features may be negative, d is larger than 2, or queries and keys are too
            long for the quadrature.

    Source: Gil-Pelaez 1951; docs/mathematics/features.md#a-row-of-attention-is-a-ratio.
    """
    chances, ratios = _one_projection(estimator, q, k)
    weights = scipy.special.softmax(k @ q)
    normaliser = ratios @ weights
    above = [
        _chance_of_positive_sum(weights[key] * ratios[:, key] - (weights[key] + side) * normaliser, chances, m)
        for side in (-distance, distance)
    ]
    return above[0] - above[1]


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


def output_error(covariances: np.ndarray, weights: np.ndarray, values: np.ndarray) -> float:
    """Mean square error of a row's output, times the number of projections, by the delta method.

    Args:
        covariances: relative, of one projection, [s s].
        weights: the exact ones, [s].
        values: of any width, [s e].

    Returns:
        The sum over coordinates; infinite where a covariance is.

    Source: docs/mathematics/features.md#a-row-of-attention-is-a-ratio.
    """
    along = weights[:, None] * (values - weights @ values)
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.sum(along * (covariances @ along)))
    return max(error, 0.0) if math.isfinite(error) else math.inf


def _one_projection(estimator: Estimator, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Chances [w] of projections, and the relative estimates [w s] that each gives of the keys' kernel values."""
    if q.size > 2:
        raise ValueError(f"the quadrature is over all directions: d is at most 2, not {q.size}")
    nodes = np.arange(-9.0, 9.0, STEP)
    masses = np.exp(-(nodes**2) / 2) / np.sum(np.exp(-(nodes**2) / 2))
    axes = np.meshgrid(*[nodes] * q.size, indexing="ij")
    chances = np.prod(np.meshgrid(*[masses] * q.size, indexing="ij"), axis=0).ravel()
    kept = chances > 1e-18
    along = np.stack([axis.ravel()[kept] for axis in axes], axis=1) @ (q + k).T
    lengths = np.sum((q + k) ** 2, axis=1)
    match Estimator(estimator):
        case Estimator.POSITIVE:
            ratios = np.exp(along - lengths / 2)
        case Estimator.HYPERBOLIC:
            ratios = np.cosh(along) * np.exp(-lengths / 2)
        case Estimator.TRIGONOMETRIC | Estimator.GENERALIZED | Estimator.DENSE as other:
            raise ValueError(f"the exact law is known for positive and hyperbolic features, not for {other} ones")
        case unknown:
            assert_never(unknown)
    return chances[kept], ratios


def _chance_of_positive_sum(values: np.ndarray, chances: np.ndarray, m: int) -> float:
    """P(sum of m independent copies > 0), by inversion of the characteristic function.

    Rare values make the deviation, and the bulk of the law may be far narrower. So steps in ln t end where the bulk
    would turn by more than `RADIANS` in one of them. From there steps have that length, until the function has died
    away.
    """
    deviation = math.sqrt(chances @ values**2 - (chances @ values) ** 2)
    order = np.argsort(values)
    quartiles = values[order][np.searchsorted(np.cumsum(chances[order]), (0.25, 0.5, 0.75))]
    step = RADIANS / (m * float(np.max(np.abs(quartiles))))
    last = math.log(step / LOG_STEP)
    first = last + 13.0 + math.log(deviation * math.sqrt(m))
    log_t = last - LOG_STEP * np.arange(math.ceil(first / LOG_STEP), -1, -1)
    share = np.array([chances @ np.exp(1j * x * values) for x in np.exp(log_t)]) ** m
    low = float(np.trapezoid(np.imag(share), log_t))
    turns, turn = np.exp(1j * math.exp(last) * values), np.exp(1j * step * values)
    found = [share[-1]]
    while abs(found[-1]) > 1e-9 and len(found) < MOST_STEPS:
        turns = turns * turn
        found.append((chances @ turns) ** m)
    high = float(np.trapezoid(np.imag(found) / (1 / LOG_STEP + np.arange(len(found)))))
    return 0.5 + (low + high) / math.pi
