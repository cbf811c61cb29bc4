"""How blunt attention must become, and what a sink takes: limits and inverses."""

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.limits import dispersal

EPS = np.finfo(float).eps


@pytest.mark.parametrize("n", [2, 5, 40])
def test_no_bounded_scores_give_more_than_the_largest_weight(n):
    scores = np.random.default_rng(n).uniform(-1.5, 1.5, (4000, n))
    assert np.max(scipy.special.softmax(scores, axis=1)) <= dispersal.largest_weight(n, 1.5)


def test_the_largest_weight_is_a_softmax():
    scores = np.array([2.0] + [-2.0] * 9)
    assert dispersal.largest_weight(10, 2.0) == pytest.approx(scipy.special.softmax(scores)[0], rel=32 * EPS)


def test_a_single_key_has_all_the_weight_and_many_share_it():
    assert dispersal.largest_weight(1, 3.0) == 1
    assert dispersal.largest_weight(10**9, 3.0) < 1e-6


@pytest.mark.parametrize("weight", [0.2, 0.9, 1 - 1e-6])
def test_the_peak_needed_inverts_the_largest_weight(weight):
    assert dispersal.largest_weight(50, dispersal.peak_needed(50, weight)) == pytest.approx(weight, rel=32 * EPS)


def test_a_sink_is_one_more_key_of_score_zero():
    scores = np.array([0.3, -1.2, 2.0])
    with_sink = scipy.special.softmax(np.append(scores, 0.0))[:3]
    factor = dispersal.sink_factor(np.sum(np.exp(scores)))
    assert with_sink == pytest.approx(factor * scipy.special.softmax(scores), rel=16 * EPS)
