"""Which weights a width reaches: weights of known rank."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from attnlab_theory.theory.limits import low_rank

TOLERANCE = 1e-9


def weights_of_width(n, d, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, d)) @ rng.standard_normal((d, n))
    return scipy.special.softmax(scores + rng.standard_normal((n, 1)), axis=1)


@pytest.mark.parametrize(("n", "d"), [(5, 1), (9, 4), (9, 8)])
def test_weights_of_a_head_need_its_width(n, d):
    weights = weights_of_width(n, d)
    assert low_rank.least_error(weights, d) < TOLERANCE < low_rank.least_error(weights, d - 1)


def test_n_minus_one_is_always_enough():
    weights = weights_of_width(6, 20)
    assert low_rank.least_error(weights, 5) < TOLERANCE < low_rank.least_error(weights, 4)


def test_uniform_weights_need_no_width():
    assert low_rank.least_error(np.full((4, 4), 0.25), 0) < TOLERANCE


def test_the_leak_on_a_circle_is_a_softmax():
    angles = 2 * np.pi * np.arange(7) / 7
    weights = scipy.special.softmax(5.0 * np.cos(angles))
    assert low_rank.circle_leak(7, 5.0) == pytest.approx(1 - weights[0], rel=64 * np.finfo(float).eps)
    assert low_rank.circle_leak(7, 0.0) == pytest.approx(6 / 7)


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("seed", range(3))
def test_no_head_that_is_searched_for_beats_the_bound(seed):
    """Three tokens and a width of one: five numbers, searched by simplex from many starts."""
    rng = np.random.default_rng(seed)
    weights = scipy.special.softmax(rng.standard_normal((3, 3)), axis=1)

    def worst(free):
        scores = np.outer(free[:3], free[3:])
        return float(np.max(np.abs(scipy.special.softmax(scores, axis=1) - weights)))

    starts = rng.standard_normal((8, 6))
    found = min(scipy.optimize.minimize(worst, start, method="Nelder-Mead").fun for start in starts)
    bound = low_rank.error_at_least(weights, 1)
    assert 0 < bound <= found
    assert low_rank.error_at_least(weights, 2) < 1e-14


@pytest.mark.parametrize("alike", [False, True])
def test_the_bound_is_where_logarithms_may_just_be_as_far_off_as_they_must(alike):
    weights = np.full((2, 2), 0.5) + np.array([[0.1, -0.1], [0.1, -0.1] if alike else [-0.2, 0.2]])
    least = low_rank.least_error(weights, 0)
    e = low_rank.error_at_least(weights, 0)
    assert 0 < e < np.min(weights)
    assert np.linalg.norm(np.log1p(-e / weights)) == pytest.approx(least, rel=1e-9)
    assert low_rank.error_at_least(np.full((3, 3), 1 / 3), 0) == 0
