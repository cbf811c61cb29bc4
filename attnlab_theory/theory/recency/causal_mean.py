"""Who is heard through layers of causal attention with equal scores: powers of the matrix of running means."""

import functools
import math

import numpy as np
import scipy.special


@functools.cache
def influence(n: int, layers: int, skip: float = 0.0) -> np.ndarray:
    """The influence of each of n tokens on the last one, after layers skip x + (1 - skip) * (running mean of x).

    Without skips token j has C(n-1, j-1) times the integral over t of t^(j-1) (1-t)^(n-j) (ln 1/t)^(L-1) / (L-1)!:
    its index is binomial, with a random chance t that is a product of L uniform numbers. With skips L is binomial,
    too.

    Source: docs/mathematics/recency.md#a-causal-mask-favours-the-first; Chowdhury 2026.
    """
    j = np.arange(1, n + 1)
    found = np.zeros(n)
    for attending in range(layers + 1):
        chance = math.comb(layers, attending) * (1 - skip) ** attending * skip ** (layers - attending)
        if chance:
            found = found + chance * (_without_skips(n, attending, j) if attending else (j == n))
    found.flags.writeable = False
    return found


def _without_skips(n: int, layers: int, j: np.ndarray) -> np.ndarray:
    """The integral over s = ln 1/t, by the trapezoid rule in ln s."""
    s = np.exp(np.linspace(-34 - math.log(n), math.log(layers + 60), 3001))
    ways = scipy.special.gammaln(n) - scipy.special.gammaln(j) - scipy.special.gammaln(n - j + 1)
    logs = -np.outer(j, s) + np.outer(n - j, np.log(-np.expm1(-s))) + layers * np.log(s) - math.lgamma(layers)
    return np.trapezoid(np.exp(logs + ways[:, None]), np.log(s), axis=1)


def share_between(n: int, layers: int, skip: float, start: int, stop: int) -> float:
    """The influence of the tokens from `start` to `stop` on the last of n; the first token has the number 1."""
    return float(np.sum(influence(n, layers, skip)[start - 1 : stop]))


def share_of_the_first(share: float, layers: int) -> float:
    """The influence of the first `share` of a long text, without skips: x times the sum of (ln 1/x)^k / k!, k < L.

    Source: docs/mathematics/recency.md#a-causal-mask-favours-the-first; Chowdhury 2026.
    """
    return share * math.fsum(math.log(1 / share) ** k / math.factorial(k) for k in range(layers))


def influence_on_itself(n: int, layers: int, skip: float) -> float:
    """What the last token keeps of itself: (skip + (1 - skip) / n)^layers, for no way leads back to it.

    Source: docs/mathematics/recency.md#the-recency-anchor-fades-with-depth.
    """
    return (skip + (1 - skip) / n) ** layers


def layers_without_recency(n: int, skip: float) -> int:
    """From how many layers on the last token is heard less than the middle one."""
    layers = 1
    while influence_on_itself(n, layers, skip) >= influence(n, layers, skip)[n // 2 - 1]:
        layers += 1
    return layers


def dead_zone(n: int, layers: int) -> float:
    """(ln 2)^(L - 1) / ((L - 1)! n): the middle token's influence if every layer attends, for long texts."""
    return math.log(2) ** (layers - 1) / math.factorial(layers - 1) / n
