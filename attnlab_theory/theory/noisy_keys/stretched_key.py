r"""One key of uncertain length: the problem, and the weights of one head (docs/mathematics/noisy_keys.md).

Keys k_i ~ N(mu_i, a I), mu_i orthonormal, some stretched: covariance a I + mu_i mu_i^T / 2. Values orthonormal.
One head asks beta (mu_a + mu_b); of several heads, head h asks beta mu_h and the outputs are averaged.
The heads are independent although they read the same keys: q_h^T Sigma_i q_g = 0 for h != g and every i.
"""

import functools

import numpy as np

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.moments import Moments

STRETCH = 0.5
"""Variance along a stretched key's own direction, per squared length of its mean."""


def head_weights(n: int, coordinates: tuple[float, ...], variance: float, stretched: int) -> Moments:
    """Weights of the query with these products with the first means, the first `stretched` keys stretched."""
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
