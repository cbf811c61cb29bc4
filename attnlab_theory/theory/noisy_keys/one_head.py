r"""One head and one key of uncertain length: the gamble (docs/mathematics/noisy_keys.md).

The problem is that of theory/noisy_keys/stretched_key.py: the head asks beta (mu_a + mu_b), and key a is stretched.
"""

import functools
import math

import numpy as np
import scipy.special

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.moments import Moments
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH, head_weights, mean_of_first


@functools.cache
def one_head_weights(n: int, beta: float, variance: float) -> Moments:
    """Weights of q = beta (mu_a + mu_b), key a stretched; a is key 0, b is key 1."""
    return head_weights(n, (beta, beta), variance, stretched=1)


def one_head_error(n: int, beta: float, variance: float) -> float:
    """E||c - (v_a + v_b)/2||^2 for one head asking for both."""
    return moments.squared_error(one_head_weights(n, beta, variance), mean_of_first(n, 2))


def one_head_variance(n: int, beta: float, variance: float) -> float:
    """Var(alpha_a) for one head asking for both."""
    return float(one_head_weights(n, beta, variance).covariance[0, 0])


def one_head_delta_variance(n: int, beta: float) -> float:
    """The delta method's Var(alpha_a) without isotropic noise: the slope's square times the variance of z_a."""
    weight = float(scipy.special.softmax(beta * mean_of_first(n, 2) * 2)[0])
    return (weight * (1 - weight)) ** 2 * STRETCH * beta**2


def ratio_deviation(beta: float, variance: float) -> float:
    """Standard deviation of z_a - z_b for one head: alpha_a / (alpha_a + alpha_b) = sigma of that normal.

    (mu_a + mu_b)^T (Sigma_a + Sigma_b) (mu_a + mu_b) = 1/2 + 4a.

    Source: docs/mathematics/noisy_keys.md.
    """
    return beta * math.sqrt(STRETCH + 4 * variance)


def logit_normal_probability(low: float, high: float, deviation: float) -> float:
    """P(low <= sigma(deviation * g) <= high) for g standard normal and 0 <= low <= high <= 1."""
    below = scipy.special.ndtr(scipy.special.logit(np.array([low, high])) / deviation)
    return float(below[1] - below[0])


def logit_normal_variance(deviation: float) -> float:
    """Var sigma(deviation * g) for g standard normal: a softmax over two keys, one of them noisy."""
    two_keys = moments.weight_moments(np.zeros(2), np.array([deviation**2, 0.0]))
    return float(two_keys.covariance[0, 0])
