r"""One key of uncertain length: the problem, and the weights of one head (docs/mathematics/noisy_keys.md).

Keys are k_i ~ N(mu_i, a I) with orthonormal mu_i. Some are stretched: their covariance is a I + mu_i mu_i^T / 2.
Values are orthonormal. A single head asks beta (mu_a + mu_b): that is its query. With several heads, head h asks
beta mu_h, and the outputs are averaged. They are independent although they read the same keys: q_h^T Sigma_i q_g =
0 for h != g and every i.
"""

import functools

import numpy as np

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.moments import Moments

STRETCH = 0.5
"""The variance of a stretched key along its mean, divided by the squared length of the mean."""


def head_weights(n: int, coordinates: tuple[float, ...], variance: float, stretched: int) -> Moments:
    """Weights of the query with these products with the first means. The first `stretched` keys are stretched."""
    query = np.zeros(n)
    query[: len(coordinates)] = coordinates
    stretch = STRETCH * (np.arange(n) < stretched)
    return moments.weight_moments(*moments.score_laws(query, np.eye(n), variance=variance, stretch=stretch))


@functools.cache
def head_asking_for(n: int, beta: float, variance: float, wanted: int, stretched: int) -> Moments:
    """Weights of q = beta mu_wanted where the first `stretched` keys are stretched."""
    return head_weights(n, (*(0.0,) * wanted, beta), variance, stretched)


def mean_of_first(n: int, count: int) -> np.ndarray:
    """The weights wanted for the mean of the first `count` of n values."""
    return (np.arange(n) < count) / count
