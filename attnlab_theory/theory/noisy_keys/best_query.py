r"""The best single query for the average of two values (docs/mathematics/noisy_keys.md).

Keys are k_i ~ N(mu_i, a I); key a has mu_a mu_a^T / 2 more. Means and values are orthonormal. A query enters only
through its length and its products with the means. A part outside their span only adds noise. The other n - 2 keys
are exchangeable. So three numbers are searched, those of the query
on_a mu_a + on_b mu_b + on_others sum_{others} mu_i. A test lets the others differ, and finds the same minimum.

The minima are found from many starts, all of which end in the same place. That is no proof.

A search takes seconds, so no claim calls `best_query`, `best_query_for_the_pair` or `best_two_heads`. The claims
hold their results as committed numbers, and the tests find these again.
"""

import functools
from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.special

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH
from attnlab_theory.theory.noisy_keys.two_heads import two_heads_error

STARTS = ((0.0, 0.0, -5.0), (1.0, 1.0, 0.0), (2.0, 3.0, -1.0), (5.0, 5.0, 0.0), (-1.0, 1.0, -3.0))


class Query(NamedTuple):
    """A single query, by its products with the means."""

    on_a: float
    on_b: float
    on_others: float


class Best(NamedTuple):
    """The least minimum over queries, and the worst in which another start ended."""

    query: Query
    error: float
    worst_start: float


@functools.cache
def query_error(n: int, variance: float, query: Query) -> float:
    """E||c - (v_a + v_b)/2||^2 for one head with this query.

    Source: docs/mathematics/noisy_keys.md.
    """
    means, variances, half = _laws(n, variance, query)
    return moments.squared_error(moments.weight_moments(means, variances), half)


@functools.cache
def query_error_variance(n: int, variance: float, query: Query) -> float:
    """Var||c - (v_a + v_b)/2||^2 for one head with this query."""
    return moments.squared_error_variance(*_laws(n, variance, query))


def noiseless_error(n: int, query: Query) -> float:
    """||c - (v_a + v_b)/2||^2 for keys without noise."""
    scores, _, half = _laws(n, 0.0, query)
    return float(np.sum((scipy.special.softmax(scores) - half) ** 2))


def best_query(n: int, variance: float) -> Best:
    """The best of all single queries, searched from many starts.

    As a -> 0 it is -B sum_{others} mu_i, with B of the order of ln(1/a). It asks for neither key, so the stretch
    has no effect, and it pushes all others away. Its error goes to zero.
    """
    return _minimum(n, variance, free=3)


def best_query_for_the_pair(n: int, variance: float) -> Best:
    """The best query among on_a mu_a + on_b mu_b, which are orthogonal to the other keys' means."""
    return _minimum(n, variance, free=2)


@functools.cache
def best_two_heads(n: int, variance: float) -> tuple[float, float]:
    """The strength beta of two heads that ask beta mu_a and beta mu_b, and their least error.

    Raises:
        ValueError: if `variance` is not positive. The error then falls for ever as beta grows.
    """
    if not variance > 0:
        raise ValueError(f"two heads have a best strength only under some isotropic noise, not {variance}")

    def error(log_beta: float) -> float:
        return two_heads_error(n, float(np.exp(log_beta)), variance)

    found = scipy.optimize.minimize_scalar(error, bounds=(0.0, 7.0), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun)


def _minimum(n: int, variance: float, *, free: int) -> Best:
    def error(coordinates: np.ndarray) -> float:
        return query_error(n, variance, Query(*map(float, np.append(coordinates, np.zeros(3 - free)))))

    # A box, because with a = 0 the best query is infinitely long.
    box = [(-40.0, 40.0)] * free
    runs = [
        scipy.optimize.minimize(error, np.array(start[:free]), method="L-BFGS-B", bounds=box) for start in STARTS
    ]
    best = min(runs, key=lambda run: run.fun)
    query = Query(*map(float, np.append(best.x, np.zeros(3 - free))))
    return Best(query, float(best.fun), float(max(run.fun for run in runs)))


def _laws(n: int, variance: float, query: Query) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    coordinates = np.full(n, query.on_others)
    coordinates[:2] = query.on_a, query.on_b
    stretch = STRETCH * np.eye(1, n)[0]
    laws = moments.score_laws(coordinates, np.eye(n), variance=variance, stretch=stretch)
    return *laws, np.eye(2, n).sum(axis=0) / 2
