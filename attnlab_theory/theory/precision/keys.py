"""Rounding keys by their largest entry, with an offset in one channel (docs/mathematics/precision.md)."""

import functools
import math

import numpy as np
import scipy.special


def _chance_below(x: np.ndarray, shift: float) -> np.ndarray:
    """The chance that |shift + g| < x."""
    return scipy.special.ndtr(x - shift) - scipy.special.ndtr(-x - shift)


@functools.cache
def mean_power_of_largest(d: int, offset: float, power: int, *, everywhere: bool = False) -> float:
    """E max_i |b_i + g_i|^power over d entries, b the offset in the first alone or `everywhere`.

    The mean of a positive number Y is the integral of P(Y > y). Entries are independent, so P(max < x) is a
    product.

    Source: docs/mathematics/precision.md#keys-with-a-common-offset.
    """
    x = np.linspace(0, 12 + abs(offset), 20_001)
    others = _chance_below(x, offset if everywhere else 0.0)
    below = _chance_below(x, offset) * others ** (d - 1)
    return float(np.trapezoid(power * x ** (power - 1) * (1 - below), x))


def largest_as_they_are(d: int, offset: float, power: int) -> float:
    """E max^power of the keys as they are, power 2 or 4."""
    return mean_power_of_largest(d, offset, power)


def largest_if_rotated(d: int, offset: float, power: int) -> float:
    """The same after a random rotation: the length stays, and the direction becomes even.

    E max^2 = E r^2 E_d / d, because max^2 of a normal vector is its squared length times that of its direction.
    """
    square = offset**2 + d
    if power == 2:
        return square * mean_power_of_largest(d, 0.0, 2) / d
    return (square**2 + 2 * d + 4 * offset**2) * mean_power_of_largest(d, 0.0, 4) / (d * (d + 2))


def largest_if_mixed(d: int, offset: float, power: int) -> float:
    """The same after a Hadamard matrix with random signs: each entry has the offset over sqrt(d), of a sign."""
    return mean_power_of_largest(d, offset / math.sqrt(d), power, everywhere=True)


def largest_if_centred(d: int, offset: float, power: int) -> float:
    """The same with the offset taken off."""
    return mean_power_of_largest(d, 0.0, power)


def squared_error(d: int, levels: int, square: float) -> float:
    """(d - 1) E max^2 / (12 levels^2): all entries but the largest are wrong by an even part of a step."""
    return (d - 1) * square / (12 * levels**2)


def squared_error_variance(d: int, levels: int, square: float, fourth: float) -> float:
    """The variance of that error: of even numbers in a step, and of the step."""
    return (d - 1) * fourth / (180 * levels**4) + ((d - 1) / 12) ** 2 * (fourth - square**2) / levels**4


def largest_of_many(d: int) -> float:
    """2 ln d, which E max g_i^2 tends to, slowly."""
    return 2 * math.log(d)


def error_of_a_mean(d: int, levels: int, participation: float) -> float:
    """The squared error of a weighted mean of rounded values: the mean sum of squared weights times that of one.

    Source: docs/mathematics/precision.md#rounded-values-average-out.
    """
    return participation * squared_error(d, levels, largest_if_centred(d, 0.0, 2))


def error_of_a_mean_variance(d: int, levels: int) -> float:
    """No less than its variance. By convexity its square is at most the mean square of one value's error."""
    square, fourth = (largest_if_centred(d, 0.0, power) for power in (2, 4))
    return squared_error_variance(d, levels, square, fourth) + squared_error(d, levels, square) ** 2
