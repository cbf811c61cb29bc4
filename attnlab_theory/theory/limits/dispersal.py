"""How sharp attention can stay among many keys, and what a sink takes from it (docs/mathematics/limits.md)."""

import math

import numpy as np

from attnlab_theory.theory.limits.hopfield import mean_interference


def largest_weight(n: int, peak: float) -> float:
    """The most that one of n keys can weigh when no score exceeds `peak` in size: e^2M / (e^2M + n - 1).

    It is reached by one score of M among n - 1 of -M.

    Source: docs/mathematics/limits.md#bounded-scores-disperse; Velickovic et al. 2024, lemma 2.1.
    """
    return float(1 / (1 + (n - 1) * np.exp(-2 * peak)))


def peak_needed(n: int, weight: float) -> float:
    """The least bound on the scores under which a key can weigh `weight`: half of ln((n - 1) w / (1 - w))."""
    return math.log((n - 1) * weight / (1 - weight)) / 2


def mean_largest_weight(n: int, d: int, peak: float) -> float:
    """The mean of the largest of n weights, keys random of length one and width d > 1, the query of length `peak`.

    Scores are `peak` times independent cosines t of density f(t) ~ (1 - t^2)^((d - 3) / 2). Write 1 / S as the
    integral of e^(-u S). Then the mean is an integral over t, the largest cosine, and u of
    n f(t) e^(peak t) e^(-u e^(peak t)) G(t, u)^(n - 1). Here G(t, u) is the integral of f(s) e^(-u e^(peak s)) over
    s < t. It is computed by the trapezoid rule in the angle and in ln u, to about six digits.

    Source: docs/mathematics/limits.md#bounded-scores-disperse.
    """
    angles = np.linspace(math.pi, 0, 2001)
    cosines, step = np.cos(angles), math.pi / 2000
    density = np.sin(angles) ** (d - 2)
    density /= np.trapezoid(density, dx=step)
    powers = np.exp(peak * cosines)
    u = np.exp(np.linspace(-peak - math.log(n) - 22, peak + 4, 320))
    left = density * np.exp(-u[:, None] * powers)
    below = np.zeros_like(left)
    below[:, 1:] = step * np.cumsum((left[:, 1:] + left[:, :-1]) / 2, axis=1)
    leads = np.trapezoid(left * powers * below ** (n - 1), dx=step, axis=1)
    return float(n * np.trapezoid(leads * u, np.log(u)))


def mean_weight_beside_nothing(n: int, peak: float) -> float:
    """e^peak / (e^peak + n - 1): the largest weight if one score reaches `peak` and the others are zero."""
    return float(1 / (1 + (n - 1) * math.exp(-peak)))


def least_weight_asked_for(n: int, d: int, strength: float) -> float:
    """A lower bound of the mean weight of one of n random keys of length one, when the query is that key.

    The weight is 1 / (1 + interference), a convex function: Jensen's inequality.

    Source: docs/mathematics/limits.md#scores-that-grow-like-the-logarithm-of-the-length.
    """
    return 1 / (1 + mean_interference(n, d, strength))


def sink_factor(total: float) -> float:
    """The factor by which one more key of score 0 and value 0 scales the output: Z / (Z + 1), Z the sum of e^score.

    Source: docs/mathematics/limits.md#a-sink-lets-attention-say-nothing; Miller 2023; Xiao et al. 2023.
    """
    return total / (total + 1)
