"""How many patterns attention can hold, as a modern Hopfield network (docs/mathematics/limits.md)."""

import math

import numpy as np
import scipy.special


def mean_power(d: int, strength: float) -> float:
    """E[e^(strength (t - 1))], t the inner product of two random unit vectors in d dimensions.

    e^-B 0F1(; d/2; B^2/4) = Gamma(d/2) (2/B)^(d/2 - 1) I_(d/2 - 1)(B) e^-B, by the scaled Bessel function, and by
    the series on the left where that underflows.
    """
    order = d / 2 - 1
    scaled = float(scipy.special.ive(order, strength))
    if strength < 1 or scaled < 1e-290:
        # From term B on, each is less than a quarter of the last.
        n = np.arange(math.ceil(strength) + 40)
        rising = scipy.special.gammaln(d / 2 + n) - scipy.special.gammaln(d / 2) + scipy.special.gammaln(n + 1)
        return math.exp(scipy.special.logsumexp(scipy.special.xlogy(2 * n, strength / 2) - rising) - strength)
    log_front = float(scipy.special.gammaln(d / 2)) + order * math.log(2 / strength)
    return math.exp(log_front + math.log(scaled))


def mean_interference(n: int, d: int, strength: float) -> float:
    """The mean sum of the weights of n - 1 other random patterns of length one, divided by the wanted one's."""
    return (n - 1) * mean_power(d, strength)


def interference_variance(n: int, d: int, strength: float) -> float:
    """The variance of that interference. Patterns are independent, and squaring a power doubles its strength."""
    return (n - 1) * (mean_power(d, 2 * strength) - mean_power(d, strength) ** 2)


def capacity(d: int, strength: float) -> int:
    """The most random patterns whose mean interference is at most one. Then each weighs at least half, on average.

    The weight of the wanted pattern is 1 / (1 + interference), a convex function. So Jensen's inequality gives the
    half. Patterns of length sqrt(d) have a strength in proportion to d. Then the logarithm of the capacity grows in
    proportion to d.

    Source: docs/mathematics/limits.md#how-many-patterns-fit; Ramsauer et al. 2021, theorem 3.
    """
    return 1 + math.floor(1 / mean_power(d, strength))


def capacity_rate(strength_per_width: float) -> float:
    """The growth of the logarithm of the capacity per dimension, in wide memories, at a strength r d.

    The t at which r (t - 1) + ln(1 - t^2) / 2 is largest dominates the mean power: r (1 - t^2) = t.
    """
    r = strength_per_width
    t = 2 * r / (1 + math.sqrt(1 + 4 * r**2))
    return r * (1 - t) - math.log1p(-(t**2)) / 2


CLASSICAL = 0.138
"""Patterns that Hopfield's network of 1982 can hold, for each dimension. Source: Amit et al. 1985."""


def classical_capacity(d: int) -> int:
    """Patterns that Hopfield's network of 1982 can hold: 0.138 d, and one at least."""
    return max(1, round(CLASSICAL * d))
