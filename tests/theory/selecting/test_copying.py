"""The copying formulas against limits, their own inverse and a direct maximisation."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from attnlab_theory.theory.selecting import averaging, copying


def test_the_leak_of_tied_scores_is_the_share_of_the_others():
    assert copying.leak_bound(8, 0.0) == 7 / 8


def test_a_single_key_leaks_nothing():
    assert copying.leak_bound(1, 0.3) == 0


@pytest.mark.parametrize("n", [2, 5, 33])
def test_the_leak_bound_is_the_maximum_over_scores(n):
    gap = 1.7

    def kept(others):
        return scipy.special.softmax(np.concatenate([[0.0], -gap - np.abs(others)]))[0]

    found = scipy.optimize.minimize(kept, np.ones(n - 1), method="Nelder-Mead", options={"maxiter": 4000})
    # The search cannot go below the true minimum, and reaches it to its own stopping tolerance.
    assert 1 - found.fun <= copying.leak_bound(n, gap)
    assert 1 - kept(np.zeros(n - 1)) == pytest.approx(copying.leak_bound(n, gap), abs=n * np.finfo(float).eps)


@pytest.mark.parametrize("leak", [0.3, 1e-3, 1e-9])
def test_the_needed_strength_inverts_the_leak(leak):
    gap = copying.strength_needed(50, leak)
    # A gap known to eps gives a leak known to eps * gap.
    assert copying.leak_bound(50, gap) == pytest.approx(leak, rel=8 * np.finfo(float).eps * gap)


def test_ten_times_the_keys_cost_ln_ten_of_strength():
    rise = copying.strength_needed(1001, 0.01) - copying.strength_needed(101, 0.01)
    assert rise == pytest.approx(np.log(10), rel=8 * np.finfo(float).eps)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_shares_and_leak_add_up_to_one(size):
    total = size * averaging.share(12, size, 1.3) + averaging.error_coefficient(12, size, 1.3)
    assert total == pytest.approx(1, abs=8 * np.finfo(float).eps)


def test_averaging_one_key_is_copying_it():
    eps = np.finfo(float).eps
    assert averaging.error_coefficient(16, 1, 3.0) == pytest.approx(copying.leak_bound(16, 3.0), rel=4 * eps)


def test_the_share_is_the_softmax_of_its_scores():
    scores = np.array([2.5] * 3 + [0.0] * 6)
    assert averaging.share(9, 3, 2.5) == pytest.approx(
        scipy.special.softmax(scores)[0], rel=1e2 * np.finfo(float).eps
    )


def test_a_strong_query_shares_equally_and_a_weak_one_with_everybody():
    assert averaging.share(16, 4, 800.0) == 1 / 4
    assert averaging.share(16, 4, 0.0) == 1 / 16
