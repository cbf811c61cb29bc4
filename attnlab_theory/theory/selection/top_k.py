"""What is lost when k of n keys are read: those of the largest scores, or those that an indexer scores highest.

True scores are N(0, sigma^2) and independent, index scores correlate with them by `rho`. At rho = 1 the keys of the
largest true scores are read.
"""

import functools
import math

import numpy as np
import scipy.special


@functools.cache
def left_out(n: int, k: int, sigma: float, rho: float = 1.0) -> float:
    """The mean softmax weight of the keys that are not among the k of the largest index scores.

    Condition on the k-th largest index score t. The other keys are independent: k - 1 lie above t, n - k below.
    With Y = e^(sigma z) and 1 / S the integral of e^(-u S) over u, the mean is n! / ((k - 1)! (n - k - 1)!) times
    the integral over t and u of phi(t) E[Y e^(-uY); y < t] E[e^(-uY); y < t]^(n-k-1) E[e^(-uY); y > t]^(k-1)
    E[e^(-uY) | y = t]. The means over z given y are functions of ln u + sigma rho y. The trapezoid rule gives about
    six digits.

    Source: docs/mathematics/selection.md#what-the-best-k-leave-out.
    """
    h = np.linspace(-8.5, 8.5, 401)
    noise = np.exp(-(h**2) / 2) / np.exp(-(h**2) / 2).sum()
    y = np.linspace(-8.5, 8.5, 1701)
    density = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi) * (y[1] - y[0])
    log_u = np.linspace(-12 * sigma - math.log(n) - 14, 8 * sigma + 6, 301)
    if rho == 1:
        given = -np.exp(np.minimum(log_u[:, None] + sigma * y, 600))
        alive = np.exp(given)
        paid = -given * alive
    else:
        at = np.linspace(log_u[0] - 9 * sigma, log_u[-1] + 9 * sigma, 4001)
        powers = np.exp(np.minimum(at[:, None] + sigma * math.sqrt(1 - rho**2) * h, 600))
        where = log_u[:, None] + sigma * rho * y
        alive = np.interp(where, at, np.exp(-powers) @ noise)
        paid = np.interp(where, at, (powers * np.exp(-powers)) @ noise)
    # Midpoints: half of a node's own cell lies below it. `paid` is u Y e^(-uY), and du = u d ln u.
    below, owed = (np.cumsum(density * x, axis=1) - density * x / 2 for x in (alive, paid))
    above = (alive @ density)[:, None] - below
    with np.errstate(divide="ignore"):
        logs = (n - k - 1) * np.log(np.maximum(below, 0)) if n - k > 1 else np.zeros_like(below)
        logs = logs + ((k - 1) * np.log(np.maximum(above, 0)) if k > 1 else 0.0)
    count = math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(n - k)
    of_t = (np.exp(np.maximum(count + logs, -700)) * owed * alive) @ density
    return float(np.trapezoid(of_t, log_u))


def left_out_of_many(kappa: float, sigma: float, rho: float = 1.0) -> float:
    """The limit of `left_out` for many keys, of which the share `kappa` is read: Phi(Phi^-1(1 - kappa) - rho
    sigma).

    Source: docs/mathematics/selection.md#an-indexer-is-a-cooler-head.
    """
    return float(scipy.special.ndtr(scipy.special.ndtri(1 - kappa) - rho * sigma))


def needle_kept(n: int, k: int, mu: float, rho: float) -> float:
    """The chance that a key of true score `mu` is among the k best of n by index scores, all others N(0, 1).

    Its index score is N(rho mu, 1 - rho^2). Given that it is rho mu + sqrt(1 - rho^2) x, others lie above it
    independently.

    Source: docs/mathematics/selection.md#an-indexer-is-a-cooler-head.
    """
    x = np.linspace(-9.0, 9.0, 3601)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    above = scipy.special.ndtr(-(rho * mu + math.sqrt(1 - rho**2) * x))
    chance = scipy.special.bdtr(k - 1, n - 1, above)
    return float(np.trapezoid(density * chance, x))


def mean_block_kept(blocks: int, size: int, k: int, mu: float) -> float:
    """The chance that the block of a key of score `mu` is among the k best by the means of their keys.

    A mean of `size` keys scores N(mu / size, (size - 1) / size^2) where the key is, and N(0, 1 / size) elsewhere.
    In units of the latter this is an index score with rho = size^(-1/2).

    Source: docs/mathematics/selection.md#a-mean-of-keys-hides-a-needle.
    """
    return needle_kept(blocks, k, mu, size**-0.5)
