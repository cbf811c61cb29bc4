"""Generalized exponential features with a parameter from 1/8 to 1/4 are unbiased, but their variance is infinite.

For points on a line, one product divided by what it estimates is
f = sqrt(1-4a) exp(2a g^2 + sqrt(1-4a) g sqrt(L) - L/2), with a normal g. P(f > x) falls as x^(-1/(4a)), up to
logarithms. So f has a mean for a < 1/4, and a finite variance for a < 1/8 only. See docs/mathematics/features.md.
"""

import functools
import math

import numpy as np
import scipy.special

CHANCE_ERROR = 1e-4
"""The error of `chance_of_error`: four times the change when both steps of its integrals are halved."""


@functools.cache
def chance_of_error(length: float, a: float, m: int, tolerance: float) -> float:
    """P(the mean of m products is off by more than a relative `tolerance`), for points on a line.

    By Gil-Pelaez's inversion of the characteristic function of the sum.

    Args:
        length: L = (x + y)^2.
        a: less than 1/4.
        m: independent projections, at least 8. With fewer the characteristic function hardly dies away.
        tolerance: less than 1.

    Raises:
        ValueError: if there are fewer projections.

    Source: Gil-Pelaez 1951; docs/mathematics/features.md#where-the-variance-is-infinite.
    """
    if m < 8:
        raise ValueError(f"m is at least 8, not {m}")
    g = np.linspace(-16, 16, 4001)
    chances = np.exp(-(g**2) / 2)
    chances /= chances.sum()
    kept = chances > 1e-40
    products = math.sqrt(1 - 4 * a) * np.exp(2 * a * g**2 + math.sqrt((1 - 4 * a) * length) * g - length / 2)[kept]
    log_t = np.linspace(-14, 12, 800)
    t = np.exp(log_t)
    share = np.array([np.sum(chances[kept] * np.exp(1j * x * products / m)) for x in t]) ** m
    below = [
        0.5 - float(np.trapezoid(np.imag(np.exp(-1j * t * edge) * share), log_t)) / math.pi
        for edge in (1 - tolerance, 1 + tolerance)
    ]
    return 1 - (below[1] - below[0])


def chance_if_root_law(length: float, a: float, m: int, tolerance: float, *, start: int) -> float:
    """The same if errors were normal and fell as m^(-1/2). The chance at `start` projections fixes their size."""
    deviations = scipy.special.ndtri(1 - chance_of_error(length, a, start, tolerance) / 2)
    return float(2 * scipy.special.ndtr(-deviations * math.sqrt(m / start)))
