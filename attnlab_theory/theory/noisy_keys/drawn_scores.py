"""The joint law of two heads' scores of one key (docs/mathematics/noisy_keys.md).

Heads with queries Q that read the same key k_i ~ N(mu_i, Sigma_i) have the scores N(Q mu_i, Q Sigma_i Q^T).
So scores can be drawn instead of keys.
"""

import math

import numpy as np
import scipy.special
from jaxtyping import Float

from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH


def stretched_covariance(
    mean: Float[np.ndarray, " d"], *, variance: float, stretch: float
) -> Float[np.ndarray, "d d"]:
    """variance * I + stretch * mu mu^T, the covariance of the homework's noisy key."""
    return variance * np.eye(mean.size) + stretch * np.outer(mean, mean)


def scores_covariance(n: int, beta: float, variance: float, index: int) -> Float[np.ndarray, "2 2"]:
    """The covariance of two heads' scores of key `index`. They ask beta (mu_a + mu_b) and beta mu_a; a is key 0."""
    means = np.eye(n)
    covariance = stretched_covariance(means[index], variance=variance, stretch=STRETCH if index == 0 else 0.0)
    queries = beta * np.array([[1.0, 1.0], [1.0, 0.0]]) @ means[:2]
    return queries @ covariance @ queries.T


def both_doubt_more(n: int, beta: float, threshold: float) -> float:
    """How much more often both heads give key a at most `threshold` than independent heads would.

    There is no isotropic noise. The heads ask beta (mu_a + mu_b) and beta mu_a. Only z_a is random. Each head
    gives key a at most `threshold` if z_a lies below a value of its own. So the probability that both do is the
    smaller of the two.
    """
    logit = float(scipy.special.logit(threshold))
    rest = float(np.logaddexp(beta, math.log(n - 2) if n > 2 else -math.inf)), math.log(n - 1)
    chances = [float(scipy.special.ndtr(((r + logit) / beta - 1) / math.sqrt(STRETCH))) for r in rest]
    return min(chances) - chances[0] * chances[1]


def product_variance(first: float, second: float, covariance: float) -> float:
    """Var(xy) for centred jointly normal x and y, from their variances and covariance.

    E[x^2 y^2] = Var(x) Var(y) + 2 Cov(x, y)^2.

    Source: Isserlis 1918.
    """
    return first * second + covariance**2
