r"""Two heads and one key of uncertain length: the hedge (docs/mathematics/noisy_keys.md).

The problem is that of theory/noisy_keys/stretched_key.py: head 1 asks beta mu_a, head 2 asks beta mu_b, and key a
is stretched.
"""

import functools
import math

import numpy as np
import scipy.special

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.many_heads import many_heads_error
from attnlab_theory.theory.noisy_keys.moments import Moments
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH, head_asking_for, mean_of_first


def two_heads_error(n: int, beta: float, variance: float) -> float:
    """E||c - (v_a + v_b)/2||^2 for two heads."""
    return many_heads_error(n, beta, variance, heads=2, stretched=1)


@functools.cache
def two_heads_error_when_heard(n: int, beta: float, variance: float) -> float:
    """E[||c - (v_a + v_b)/2||^2 given k_a . q_1 >= 0] for two heads, key a stretched.

    Given its score z_a, head 1 sees a score without noise. The mean of its moments over z_a >= 0 is an integral
    whose structure is one wide, with poles at distance pi. It ends where e^{z_a} exceeds all others. 12
    Gauss-Legendre nodes on panels of width 4 err by less than 1e-12.
    """
    scores, chances = _heard_scores(beta, variance, up_to=40.0 + 2 * beta * math.sqrt(variance))
    others = np.full(n - 1, beta**2 * variance)
    given = [moments.weight_moments(np.append(z, np.zeros(n - 1)), np.append(0.0, others)) for z in scores]
    first = Moments(
        np.tensordot(chances, [each.first for each in given], axes=1),
        np.tensordot(chances, [each.second for each in given], axes=1),
    )
    second = head_asking_for(n, beta, variance, 1, 1)
    return moments.mean_of_heads_squared_error([first, second], mean_of_first(n, 2))


@functools.cache
def error_when_heard_square(n: int, beta: float, variance: float) -> float:
    r"""An upper bound on E[||c - (v_a + v_b)/2||^4 given k_a . q_1 >= 0] for two heads, key a stretched.

    By Minkowski, (E||.||^4)^{1/4} is at most half of two errors: of head 1 on v_a, and of head 2 on v_b. Given its
    score z_a, the error of head 1 is a moment of its weights. Beyond z_a = 16 it only falls, so its value there is
    taken.
    """
    means, variances = np.zeros(n), np.append(0.0, np.full(n - 1, beta**2 * variance))
    first = 0.0
    for score, chance in zip(*_heard_scores(beta, variance, up_to=16.0), strict=True):
        means[0] = score
        first += chance * _fourth_moment(means, variances, np.eye(n)[0])
    second = _fourth_moment(beta * np.eye(n)[1], np.full(n, beta**2 * variance), np.eye(n)[1])
    return (first**0.25 + second**0.25) ** 4 / 16


def lost_key_probability(n: int, beta: float, share: float = 0.5) -> float:
    """Phi(sqrt(2) (ln(n-1)/beta - 1)): head 1 gives v_a less than half its weight, for a = 0.

    The other n - 1 keys score 0, so that happens when k_a . q_1 < ln(n-1). For another share of the weight, it
    happens below ln(n-1) + logit(share). For the even share 1/n, the threshold is 0.

    Source: docs/mathematics/noisy_keys.md.
    """
    threshold = math.log(n - 1) + float(scipy.special.logit(share))
    return float(scipy.special.ndtr((threshold / beta - 1) / math.sqrt(STRETCH)))


def ignored_key_probability(variance: float) -> float:
    """P(k_a . q_1 < 0) = Phi(-1 / sqrt(1/2 + a)): the homework's event, whatever the query's strength."""
    return float(scipy.special.ndtr(-1 / math.sqrt(STRETCH + variance)))


def landing_probability(
    n: int, beta: float, heads: int, a_range: tuple[float, float], b_range: tuple[float, float]
) -> float:
    """P(the output's weights on v_a and v_b lie in these ranges) for a = 0, where only k_a's length is random.

    Everything follows from one weight A = sigma(z_a - ln W), z_a ~ N(beta, beta^2/2). For one head W = e^beta + n
    - 2, and the weights are A and (1 - A) e^beta / W. For two heads W = n - 1. Then A and (1 - A)/W are averaged
    with the weights of head 2, 1 / (e^beta + n - 1) and e^beta / (e^beta + n - 1).
    """
    if heads == 1:
        log_rest = float(np.logaddexp(beta, math.log(n - 2) if n > 2 else -math.inf))
        on_a = (0.0, 1.0)
        on_b = (math.exp(beta - log_rest), -math.exp(beta - log_rest))
    else:
        log_rest = math.log(n - 1)
        copied = 1 / (1 + (n - 1) * math.exp(-beta))
        on_a = ((1 - copied) / (n - 1) / 2, 0.5)
        on_b = (copied / 2 + 0.5 / (n - 1), -0.5 / (n - 1))
    low, high = 0.0, 1.0
    for (offset, slope), (least, most) in ((on_a, a_range), (on_b, b_range)):
        ends = sorted(((least - offset) / slope, (most - offset) / slope))
        low, high = max(low, ends[0]), min(high, ends[1])
    if low >= high:
        return 0.0
    scores = scipy.special.logit(np.array([low, high])) + log_rest
    below = scipy.special.ndtr((scores / beta - 1) / math.sqrt(STRETCH))
    return float(below[1] - below[0])


def _heard_scores(beta: float, variance: float, *, up_to: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and chances of the law of z_a given z_a >= 0: panels of width 4, and the last node for all beyond."""
    deviation = beta * math.sqrt(STRETCH + variance)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    panels = np.arange(0.0, up_to, 4.0)
    scores = (panels[:, None] + 2 * (nodes + 1)).reshape(-1)
    density = np.exp(-(((scores - beta) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    last = panels[-1] + 4
    chances = np.append(np.tile(2 * weights, panels.size) * density, _above(last, beta, deviation))
    return np.append(scores, last), chances / _above(0.0, beta, deviation)


def _fourth_moment(means: np.ndarray, variances: np.ndarray, target: np.ndarray) -> float:
    """E||alpha - target||^4."""
    squared = moments.squared_error(moments.weight_moments(means, variances), target)
    return moments.squared_error_variance(means, variances, target) + squared**2


def _above(threshold: float, mean: float, deviation: float) -> float:
    return float(scipy.special.ndtr((mean - threshold) / deviation))
