"""What features do to recall: powers of a product, and features that are never negative."""

import functools
import math

import numpy as np
import scipy.interpolate


def cosine_moment(d: int, power: int) -> float:
    """E t^(2 power) of the cosine t of two random directions: (2p - 1)!! / (d (d + 2) ... (d + 2p - 2)).

    Source: docs/mathematics/memory.md#a-state-of-size-d.
    """
    return math.prod((2 * i + 1) / (d + 2 * i) for i in range(power))


def power_error(n: int, d: int, power: int) -> float:
    """The mean error of one of n unit keys in a sum whose kernel is (q . k)^power.

    Source: docs/mathematics/memory.md#a-state-of-size-d.
    """
    return (n - 1) * cosine_moment(d, power)


def power_variance(n: int, d: int, power: int) -> float:
    """The variance of that error: a sum of n - 1 independent cosines to the power 2 `power`."""
    return (n - 1) * (cosine_moment(d, 2 * power) - cosine_moment(d, power) ** 2)


def state_width(d: int, power: int) -> int:
    """How many different products of `power` coordinates there are: the number of independent features."""
    return math.comb(d + power - 1, power)


ASKED_OVER_MEAN = 1.45974
"""E phi^2 / (E phi)^2 of phi = elu(x) + 1 at a standard normal x; a test integrates it."""


@functools.cache
def positive_self_weight(n: int, d: int) -> float:
    """The mean weight of a standard normal key that asks for itself among n, with features elu(x) + 1, normalised.

    The weight is B / (B + sum), B = sum over coordinates of phi^2. Write 1 / (B + sum) as the integral of e^(-u (B
    + sum)). Given the asking key, everything is a product over coordinates and over keys. With l(t) = E e^(-t phi)
    the mean is the integral over u of d E[phi^2 e^(-u phi^2) l(u phi)^(n - 1)] (E[e^(-u phi^2) l(u phi)^(n -
    1)])^(d - 1). The trapezoid rule in ln u and in x gives six digits or more.

    Source: docs/mathematics/memory.md#positive-features-cannot-point.
    """
    x = np.linspace(-9.0, 9.0, 1201)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    phi = np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    u = np.exp(np.linspace(-18 - math.log(n * d), 22, 401))
    t = np.exp(np.linspace(math.log(u[0]) - 10, math.log(u[-1]) + 3, 1801))
    # No kink matters: both slopes of phi at 0 are 1, and 0 is a node.
    transform = density @ np.exp(-np.outer(phi, t))
    log_transform = scipy.interpolate.CubicSpline(np.log(t), np.log(np.maximum(transform, 1e-300)))(
        np.log(u[:, None] * phi)
    )
    each = np.exp(-u[:, None] * phi**2 + (n - 1) * log_transform)
    integrand = d * (each @ (density * phi**2)) * (each @ density) ** (d - 1)
    return float(np.trapezoid(integrand * u, np.log(u)))


def wide_self_weight(n: int) -> float:
    """The limit of `positive_self_weight` for wide keys, r / (r + n - 1) with r = E phi^2 / (E phi)^2."""
    return ASKED_OVER_MEAN / (ASKED_OVER_MEAN + n - 1)
