"""Four bits of several kinds, for normal numbers in groups with one scale (docs/mathematics/precision.md)."""

import functools
import math
from collections.abc import Callable

import numpy as np
import scipy.special

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The sizes that a floating number of four bits can have: two bits of exponent, one of mantissa."""
WHOLE = tuple(float(x) for x in range(8))

Scale = Callable[[np.ndarray], np.ndarray]


def power_of_two(largest: np.ndarray) -> np.ndarray:
    """The scale of MXFP4: 2^(floor(log2 max) - 2), under which the largest entry is from 4 to 8, and cut at 6."""
    return 2.0 ** (np.floor(np.log2(largest)) - 2)


@functools.cache
def error_moments(sizes: tuple[float, ...], scale: Scale, group: int, offset: float = 0.0) -> tuple[float, float]:
    """Mean and variance of a group's mean squared error.

    Given the largest entry m, the others are independent normal numbers between -m and m. Their errors have
    moments in closed form, and one sum is over m. An offset of one entry, of 8 at least, makes this one the
    largest, but for a chance of 1e-7.

    Source: docs/mathematics/precision.md#four-bits-of-several-kinds.
    """
    step = 1 / 256
    largest = offset + step * (np.arange(-7 * 256 if offset else 0, 7 * 256) + 0.5)
    inside = 2 * scipy.special.ndtr(largest) - 1
    weights = step / np.sqrt(2 * np.pi) * np.exp(-((largest - offset) ** 2) / 2)
    if not offset:
        # The density of the largest |g|, whose distribution function is (2 Phi - 1)^group.
        weights = 2 * group * inside ** (group - 1) * weights
    grid = np.array(sizes)
    middles = (grid[1:] + grid[:-1]) / 2
    steps = scale(largest)
    lost = (largest - steps * grid[np.searchsorted(middles, largest / steps)]) ** 2
    # Of the other entries each size has those between two middles, of either sign. None is beyond the largest.
    edges = np.minimum(steps[:, None] * np.concatenate([[0.0], middles, [np.inf]]), largest[:, None])
    of_power = _moments(edges[:, :-1], edges[:, 1:])
    centre = steps[:, None] * grid
    square = _power_of_the_error(of_power, centre, 2).sum(axis=1) / (inside / 2)
    fourth = _power_of_the_error(of_power, centre, 4).sum(axis=1) / (inside / 2)
    first = (lost + (group - 1) * square) / group
    within = (group - 1) * (fourth - square**2) / group**2
    mean = float(weights @ first)
    return mean, float(weights @ ((first - mean) ** 2 + within))


def _moments(low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """The integrals of x^0 to x^4 times the normal density between two ends, by parts."""
    ends = [(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)) for x in (low, high)]
    found = [scipy.special.ndtr(high) - scipy.special.ndtr(low), ends[0][1] - ends[1][1]]
    for power in (2, 3, 4):
        at_low, at_high = (x ** (power - 1) * density for x, density in ends)
        found.append((power - 1) * found[power - 2] + at_low - at_high)
    return found


def _power_of_the_error(of_power: list[np.ndarray], centre: np.ndarray, power: int) -> np.ndarray:
    """The integral of (x - centre)^power, by the binomial theorem."""
    terms = (math.comb(power, k) * (-centre) ** (power - k) * of_power[k] for k in range(power + 1))
    return functools.reduce(np.add, terms)


def by_seventh(largest: np.ndarray) -> np.ndarray:
    """The scale of whole numbers up to 7: the largest entry over 7."""
    return largest / 7


def by_sixth(largest: np.ndarray) -> np.ndarray:
    """The exact scale of e2m1: the largest entry over 6."""
    return largest / 6


def by_rounded_sixth(largest: np.ndarray) -> np.ndarray:
    """The scale of NVFP4: the largest entry over 6, rounded to the four binary digits that e4m3 has."""
    mantissa, exponent = np.frexp(largest / 6)
    return np.ldexp(np.round(mantissa * 16) / 16, exponent)
