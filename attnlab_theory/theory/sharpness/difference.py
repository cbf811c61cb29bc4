r"""The noise of a difference of two softmax maps (docs/mathematics/sharpness.md).

Two scores of a key are normal with correlation rho, the keys independent. With 1/(SS') as a double integral, the
mean of the sum of alpha_i alpha'_i is n times that of K(t, u) J(t, u)^{n-1}, where J = E exp(-t e^z - u e^z') and K
has the factor e^{z + z'} more. On a grid of z and z' both are products of matrices. In ln t, ln u, z and z' the
trapezoid rule sums bells that are one wide, or as wide as the noise that the maps do not share.
"""

import functools
import math

import numpy as np

from attnlab_theory.theory import independent_scores

STEP = 0.2
"""The step in ln t, in ln u and in the scores: bells that are one wide are summed to e^(-pi^2 / STEP)."""


def one_map(n: int, spread: float) -> float:
    """A: the participation of one map."""
    return independent_scores.participation(independent_scores.normal(spread), n)


@functools.cache
def two_maps(n: int, spread: float, rho: float) -> float:
    """B: the mean of the sum of alpha_i alpha'_i, for a correlation 0 <= rho < 1.

    Source: docs/mathematics/sharpness.md#what-a-difference-does-to-noise.
    """
    step = min(STEP / max(spread, 1.0), math.sqrt(1 - rho**2) / 2)
    g = np.arange(-8.5, 8.5 + 1e-9, step)
    joint = np.exp(-(g[:, None] ** 2 - 2 * rho * g[:, None] * g + g**2) / (2 * (1 - rho**2)))
    joint /= joint.sum()
    x = np.arange(-30 - math.log(n) - 6 * spread, 5 + 6 * spread, STEP)
    bells = np.exp(x)[:, None] * np.exp(spread * g)
    powers = np.exp(-bells)
    rest = powers @ joint @ powers.T
    first = (bells * powers) @ joint @ (bells * powers).T
    return float(n * STEP**2 * np.sum(first * rest ** (n - 1)))


def noise(n: int, spread: float, lam: float, rho: float) -> float:
    """E sum (alpha_i - lam alpha'_i)^2 = (1 + lam^2) A - 2 lam B."""
    return (1 + lam**2) * one_map(n, spread) - 2 * lam * two_maps(n, spread, rho)


def noise_of_many_keys(n: int, spread: float, lam: float, rho: float) -> float:
    """The same if all sums are replaced by their means: the law of n far beyond e^(3 spread^2 / 2)."""
    return ((1 + lam**2) * math.exp(spread**2) - 2 * lam * math.exp(rho * spread**2)) / n


def largest_quiet_lambda(n: int, spread: float, rho: float) -> float:
    """2B/A: a difference with a smaller lambda is quieter than one map, with a larger one louder."""
    return 2 * two_maps(n, spread, rho) / one_map(n, spread)
