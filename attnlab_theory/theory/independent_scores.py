r"""Softmax over n independent scores of one law, by one integral (docs/mathematics/sinks.md).

Let S be the sum of e^{z_i}. Because 1/S is the integral of e^{-uS} over u > 0, and the scores are independent,
means of weights are integrals of products of L_k(u) = E[e^{kz} exp(-u e^z)]:

    E sum alpha_i^2      = n int u L_2(u) L(u)^{n-1} du,
    E (e^s/(e^s + S))^p  = 1/(p-1)! int u^{p-1} e^{-u} L(u e^{-s})^n du,
    E ln S               = int (e^{-u} - L(u)^n)/u du.

With u = e^x the integrands are analytic for |Im x| < pi/2, and the trapezoid rule of step h errs by about
e^{-pi^2/h}. Gauss-Hermite nodes would step over the bump of exp(-u e^z), which is one wide in z.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Float

STEP = 0.125
"""The step of every rule in x and in z, in units in which the bumps are one wide."""

REACH = 9.5
"""Standard deviations beyond which nothing of a normal score is kept: 2e-21 of it."""

LEFT, RIGHT = 45.0, 5.0
"""e^{-45} and exp(-e^5) are what the ends of the rule leave out."""


class Law(NamedTuple):
    """The law of one score: nodes of a quadrature and their chances, which sum to one."""

    scores: Float[np.ndarray, " m"]
    chances: Float[np.ndarray, " m"]


def normal(spread: float) -> Law:
    """The law N(0, spread^2), for a spread of at most 30: beyond it e^z leaves float64."""
    g = np.arange(-REACH, REACH + 1e-9, min(2 * STEP, STEP / max(spread, 1e-9)))
    chances = np.exp(-g * g / 2)
    return Law(spread * g, chances / chances.sum())


def of_cosines(d: int, strength: float) -> Law:
    """The law of strength * t, t the cosine between two random directions in d > 1 dimensions.

    The density is (1 - t^2)^((d-3)/2) in t and sin^(d-2) in the angle, over which the rule runs.
    """
    angles = math.pi * (np.arange(4000) + 0.5) / 4000
    chances = np.exp((d - 2) * np.log(np.sin(angles)))
    return Law(strength * np.cos(angles), chances / chances.sum())


def participation(law: Law, n: int) -> float:
    """E sum alpha_i^2 over n keys: the variance of the output over independent values of unit variance.

    Source: docs/mathematics/sinks.md#one-integral-for-many-means.
    """
    u = _grid(law, n)
    return n * _integral(u * u * np.exp(_log_transform(law, u, 2) + (n - 1) * _log_transform(law, u, 0)))


def share(law: Law, n: int, score: float, power: int = 1) -> float:
    """The mean of the `power`-th power of the weight of one more key, whose score is fixed, beside n keys.

    Source: docs/mathematics/sinks.md#one-integral-for-many-means.
    """
    u = _grid(law, n, score)
    # u stands for u e^-s: the sink's own factor is exp(-u e^s).
    own = power * (np.log(u) + score) - u * math.exp(score)
    return _integral(np.exp(own + n * _log_transform(law, u, 0))) / math.factorial(power - 1)


def log_normalizer(law: Law, n: int) -> float:
    """E ln S over n keys.

    Source: docs/mathematics/sinks.md#one-integral-for-many-means.
    """
    u = _grid(law, n, 0.0)
    return _integral(np.exp(-u) - np.exp(n * _log_transform(law, u, 0)))


def _grid(law: Law, n: int, *scores: float) -> Float[np.ndarray, " x"]:
    """The u at which the integrands are summed: e^x, x in steps of `STEP`."""
    some = np.array([law.scores.min(), law.scores.max(), *scores])
    return np.exp(np.arange(-LEFT - math.log(n + 1) - some.max(), RIGHT - some.min(), STEP))


def _log_transform(law: Law, u: Float[np.ndarray, " x"], power: int) -> Float[np.ndarray, " x"]:
    """ln L_k(u), taken by logarithms: nothing underflows, and the n-th power costs one product."""
    found = np.empty(u.size)
    with np.errstate(over="ignore", divide="ignore"):
        logs = power * law.scores + np.log(law.chances)
    for at in range(0, u.size, 256):  # bounds the memory at 8 MB
        part = u[at : at + 256, None]
        found[at : at + 256] = scipy.special.logsumexp(logs - part * np.exp(law.scores), axis=1)
    return found


def _integral(values: Float[np.ndarray, " x"]) -> float:
    return float(STEP * np.sum(values))
