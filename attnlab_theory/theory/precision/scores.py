"""Scores that are rounded before the softmax (docs/mathematics/precision.md)."""

import math

DIGITS = 8
"""Binary digits of a bfloat16, the leading one included."""


def half_step(exponent: float) -> float:
    """Half of the distance between bfloat16 numbers from 2^exponent to twice that."""
    return 2.0 ** (exponent - DIGITS)


def mean_square_of_odds(exponent: float) -> float:
    """E (e^x - 1)^2 for x even between -h and h, h half a step: what rounding does to the odds of a weight.

    The closed form sinh(2h)/(2h) - 2 sinh(h)/h + 1 cancels for small h. So it is summed as a series:
    (e^x - 1)^2 = sum (2^k - 2) x^k / k!, and even powers have the mean h^k / (k + 1).

    Source: docs/mathematics/precision.md#rounded-scores.
    """
    h = half_step(exponent)
    return sum((2**k - 2) * h**k / math.factorial(k + 1) for k in range(2, 60, 2))


def largest_square_of_odds(exponent: float) -> float:
    """The largest (e^x - 1)^2."""
    return math.expm1(half_step(exponent)) ** 2


def mean_square_of_one_number() -> float:
    """The mean square of x for a rounded number near one: 2^-18 / 3, half a step being 2^-9 of a number."""
    return 2.0**-18 / 3
