"""Sums of sigmoid weights, and of their squares (docs/mathematics/sinks.md)."""

import math

import numpy as np
import scipy.special

from attnlab_theory.theory import independent_scores


def mean_power(n0: int, spread: float, power: int) -> float:
    """E sigma(z)^power for a score z ~ N(-ln n0, spread^2).

    Source: docs/mathematics/sinks.md#sigmoid-weights-do-not-sum-to-one.
    """
    law = independent_scores.normal(spread)
    return float(law.chances @ scipy.special.expit(law.scores - math.log(n0)) ** power)


def sum_variance(n: int, n0: int, spread: float, power: int) -> float:
    """The variance of the sum of the `power`-th powers of n independent weights."""
    second = mean_power(n0, spread, 2 * power)
    return n * max(second - mean_power(n0, spread, power) ** 2, 1e-6 * second)


def sum_of_powers(n: int, n0: int, spread: float, power: int) -> float:
    """The mean sum of the `power`-th powers of n weights."""
    return n * mean_power(n0, spread, power)


def softmax_participation(n: int, spread: float) -> float:
    """E sum alpha_i^2 of softmax over the same scores."""
    return independent_scores.participation(independent_scores.normal(spread), n)


def participation_of_long_texts(n: int, spread: float) -> float:
    """e^(spread^2) times that of softmax: the ratio for n = n0 to infinity, taken for that at n."""
    return float(np.exp(spread**2)) * softmax_participation(n, spread)
