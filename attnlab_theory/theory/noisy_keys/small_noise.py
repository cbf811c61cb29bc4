r"""Averaging two values under small isotropic noise: two walls (docs/mathematics/noisy_keys.md).

Keys are k_i ~ N(mu_i, a I); mu_i and the values are orthonormal. One query is q = beta (mu_a + mu_b). If it is too
weak, it leaves weight on the other keys: e^beta must exceed n. If it is too strong, it reads the noise: beta
sqrt(2a), the deviation of one score, must stay below one.
"""

import functools
import math

import numpy as np

from attnlab_theory.theory.noisy_keys import moments

REMAINDER_STEP = 1 / 16
"""The step of the trapezoid rule. For poles 0.44 away, e^{-2 pi 0.44 / STEP} is below float64's rounding."""


def score_deviation(beta: float, variance: float) -> float:
    """beta sqrt(2a): the standard deviation of every score."""
    return beta * math.sqrt(2 * variance)


@functools.cache
def averaging_error(n: int, beta: float, variance: float) -> float:
    """E||c - (v_a + v_b)/2||^2, exactly.

    Source: docs/mathematics/noisy_keys.md.
    """
    means, variances, half = _laws(n, beta, variance)
    return moments.squared_error(moments.weight_moments(means, variances), half)


@functools.cache
def averaging_error_variance(n: int, beta: float, variance: float) -> float:
    """Var||c - (v_a + v_b)/2||^2, exactly."""
    return moments.squared_error_variance(*_laws(n, beta, variance))


def error_of_one_weight(n: int, beta: float, variance: float) -> float:
    """E (alpha_a - 1/2)^2, exactly."""
    means, variances, _ = _laws(n, beta, variance)
    found = moments.weight_moments(means, variances)
    return float(found.second[0, 0] - found.first[0] + 0.25)


def delta_method_error(beta: float, variance: float) -> float:
    """a beta^2 / 2: the trace of the delta method's covariance once the other keys' weight is gone."""
    return variance * beta**2 / 2


def delta_method_band(n: int, beta: float, variance: float) -> tuple[float, float]:
    r"""An interval that provably holds E||c - (v_a + v_b)/2||^2 divided by `delta_method_error`.

    Let X = z_a - z_b ~ N(0, 2 x^2), x = beta sqrt(2a), D = sigma(X) - 1/2, and r the weight of the other keys. The
    squared error is 2 (1-r)^2 D^2 + r^2 / 2 + sum_{others} alpha_i^2. It lies between 2 D^2 - r and 2 D^2 + 3r/2,
    because D^2 <= 1/4 and r <= 1. Since D = tanh(X/2) / 2, the bounds y^2 - 2y^4/3 <= tanh^2 y <= y^2 give
    (x^2/4)(1 - x^2) <= E 2D^2 <= x^2/4. The geometric mean of e^{z_a} and e^{z_b} is at most half their sum, so
    E r <= (n-2)/2 e^{-beta + 3 a beta^2 / 2}.
    """
    x = score_deviation(beta, variance)
    leak = (n - 2) / 2 * math.exp(-beta + 1.5 * variance * beta**2) / (x**2 / 4)
    return 1 - x**2 - leak, 1 + 1.5 * leak


def quadratic_share(x: float) -> float:
    """The share of X^2/8 to subtract from the squared error. The rest varies least as x -> 0, and little at any x.

    tanh^2 y = y^2 - 2y^4/3 + .... For y ~ N(0, x^2/2), regression of y^4 on y^2 explains 3x^2 y^2.
    """
    return 1 / (1 + 2 * x**2)


def delta_method_remainder_variance(n: int, beta: float, variance: float) -> float:
    r"""An upper bound on the variance of the squared error minus w X^2/8, divided by `delta_method_error`.

    X = z_a - z_b, and w is `quadratic_share`. Take D and r of `delta_method_band`, and y = X/2 ~ N(0, x^2/2). Then
    there are two
    parts: (tanh^2 y - w y^2) / (x^2/2), and what the other keys add, at most 3r/2 in size before the division. The
    standard deviation is at most the sum of theirs. That of the first is an integral over y. That of the second is
    bounded by E r^2 <= ((n-2)/2)^2 e^{-2 beta + 3x^2}.
    """
    x = score_deviation(beta, variance)
    # In g = y sqrt(2)/x the poles of tanh lie at distance pi / (x sqrt(2)), 0.44 for x = 5.
    g = np.arange(-moments.NORMAL_REACH, moments.NORMAL_REACH + REMAINDER_STEP, REMAINDER_STEP)
    density = REMAINDER_STEP * np.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    y = g * x / math.sqrt(2)
    remainder = (np.tanh(y) ** 2 - quadratic_share(x) * y**2) / (x**2 / 2)
    own = math.sqrt(float(density @ (remainder - density @ remainder) ** 2))
    others = 1.5 * (n - 2) / 2 * math.exp(-beta + 1.5 * x**2) / (x**2 / 4)
    return (own + others) ** 2


def _laws(n: int, beta: float, variance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    wanted = np.eye(2, n).sum(axis=0)
    return beta * wanted, np.full(n, 2 * variance * beta**2), wanted / 2
