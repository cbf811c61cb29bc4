"""Which weights a width reaches: weights of known rank."""

import numpy as np
import pytest
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
    assert low_rank.width_needed(weights, TOLERANCE) == d
    assert low_rank.least_error(weights, d) < TOLERANCE < low_rank.least_error(weights, d - 1)


def test_n_minus_one_is_always_enough():
    weights = weights_of_width(6, 20)
    assert low_rank.width_needed(weights, TOLERANCE) == 5


def test_uniform_weights_need_no_width():
    assert low_rank.width_needed(np.full((4, 4), 0.25), TOLERANCE) == 0


def test_the_leak_on_a_circle_is_a_softmax():
    angles = 2 * np.pi * np.arange(7) / 7
    weights = scipy.special.softmax(5.0 * np.cos(angles))
    assert low_rank.circle_leak(7, 5.0) == pytest.approx(1 - weights[0], rel=64 * np.finfo(float).eps)
    assert low_rank.circle_leak(7, 0.0) == pytest.approx(6 / 7)
