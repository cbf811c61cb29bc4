"""Gates that depend on the token: what a random forget gate keeps, and what a gate on the output adds."""

import math

import numpy as np
import scipy.special


def newest_weight(theta: float) -> float:
    """The mean weight of the newest of many tokens of equal score under forget gates of the law Beta(theta, 1).

    The weight is 1 / (1 + D) with D = f1 + f1 f2 + ..., a variable of Dickman's law, and E e^(-u D) = e^(-theta
    Ein(u)) with Ein(u) the integral of (1 - e^-x) / x up to u. So the mean is the integral of e^(-u - theta Ein(u))
    over u.

    Source: docs/mathematics/memory.md#a-forget-gate-and-its-mean.
    """
    u = np.exp(np.linspace(-40.0, 4.5, 4001))
    ein = np.where(u < 1e-3, u - u**2 / 4, np.log(u) + np.euler_gamma + scipy.special.exp1(u))
    return float(np.trapezoid(np.exp(-u - theta * ein) * u, np.log(u)))


def newest_weight_of_the_mean(theta: float) -> float:
    """The same under a constant gate of the same mean, theta / (1 + theta): 1 / (1 + theta)."""
    return 1 / (1 + theta)


def rank_of_a_head(n: int, width: int, model_width: int) -> int:
    """The rank of the outputs of n tokens from one head: no more than its width, with a gate before the projection
    or without.

    Source: docs/mathematics/memory.md#a-gate-adds-no-dimension.
    """
    return min(n, width, model_width)


def left_out(theta: float, n: int) -> float:
    """What all but n tokens add to D on average: the sum of r^m from m = n on, r = theta / (1 + theta).

    With n tokens the mean weight of the newest is larger than without an end, and by no more than this.
    """
    return (1 + theta) * math.pow(theta / (1 + theta), n)
