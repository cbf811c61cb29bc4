"""The best single query: found again, from everywhere, and no better one with unequal others."""

import numpy as np
import pytest
import scipy.optimize

from attnlab_theory.claims.noisy_keys import best_query as claims
from attnlab_theory.theory.noisy_keys import best_query as theory
from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH
from attnlab_theory.theory.noisy_keys.two_heads import two_heads_error
from tests.tolerances import moment_atol, search_rtol


@pytest.mark.slow("one of nine members stays inside", but=1)
@pytest.mark.parametrize("variance", claims.BEST)
def test_the_committed_queries_are_the_minima(variance):
    """Searches two minima, each from many starts."""
    best, for_the_pair = claims.BEST[variance]
    for committed, found in (
        (best, theory.best_query(16, variance)),
        (for_the_pair, theory.best_query_for_the_pair(16, variance)),
    ):
        error = theory.query_error(16, variance, committed)
        assert found.error <= error * (1 + search_rtol())
        assert error <= found.error * (1 + search_rtol())
        assert found.worst_start <= found.error * (1 + search_rtol())


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize("variance", [1e-6, 1e-4, 1e-1])
def test_the_committed_strengths_are_the_best(variance):
    """Searches the best strength of two heads, and integrates numerically at every step."""
    error = two_heads_error(16, claims.STRENGTH[variance], variance)
    assert error <= theory.best_two_heads(16, variance)[1] * (1 + search_rtol())


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("variance", [1e-3, 1e-2])
def test_unequal_pushes_on_the_other_keys_are_no_better(variance):
    """Minimises an error over five coordinates, and integrates numerically at every step."""
    n, half = 5, np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    stretch = STRETCH * np.eye(1, n)[0]

    def error(query):
        laws = moments.score_laws(query, np.eye(n), variance=variance, stretch=stretch)
        return moments.squared_error(moments.weight_moments(*laws), half)

    start = np.array([0.3, -0.2, -1.0, -3.0, 0.5])
    found = scipy.optimize.minimize(error, start, method="L-BFGS-B")
    assert found.fun >= theory.best_query(n, variance).error * (1 - search_rtol())


def test_a_query_that_asks_for_neither_key_averages_them_as_the_noise_goes():
    # Scores 0, 0 and -B: the error is that of averaging without any stretch, (n-2)-small times e^-B.
    n, push = 16, 12.0
    z = 2 + (n - 2) * np.exp(-push)
    wanted = 2 * (1 / z - 0.5) ** 2 + (n - 2) * (np.exp(-push) / z) ** 2
    assert abs(theory.query_error(n, 0.0, theory.Query(0.0, 0.0, -push)) - wanted) <= 4 * moment_atol(n)


def test_single_queries_win_under_small_noise_and_lose_under_broad():
    wins = [
        theory.query_error(16, variance, best) < two_heads_error(16, claims.STRENGTH[variance], variance)
        for variance, (best, _) in claims.BEST.items()
    ]
    assert wins == [True] * 4 + [False] * 5


def test_two_heads_without_isotropic_noise_have_no_best_strength():
    with pytest.raises(ValueError, match="isotropic"):
        theory.best_two_heads(16, 0.0)


def test_a_query_off_the_stretch_treats_both_keys_alike():
    n, variance = 6, 0.01
    query = theory.Query(0.0, 0.0, -2.0)
    means, variances, half = theory._laws(n, variance, query)
    swapped = moments.weight_moments(means, variances)
    assert swapped.first[0] == swapped.first[1]
    assert theory.query_error(n, variance, query) == moments.squared_error(swapped, half)


@pytest.mark.parametrize("query", [theory.Query(0.0, 1.3, -0.7), theory.Query(0.0, -2.0, 0.4)])
def test_without_noise_a_query_that_does_not_feel_the_stretch_errs_as_on_exact_keys(query):
    error = theory.query_error(16, 0.0, query)
    assert abs(theory.noiseless_error(16, query) - error) <= moment_atol(16)
    weights = np.exp([query.on_a, query.on_b, *[query.on_others] * 14])
    weights /= weights.sum()
    wanted = (weights[0] - 0.5) ** 2 + (weights[1] - 0.5) ** 2 + 14 * weights[2] ** 2
    assert theory.noiseless_error(16, query) == pytest.approx(wanted, rel=1e-12)
