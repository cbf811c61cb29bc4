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


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize(("n", "d", "peak"), [(2, 2, 3.0), (3, 5, 1.0), (40, 2, 4.0), (40, 16, 4.0)])
def test_the_mean_largest_weight_is_that_of_drawn_cosines(n, d, peak):
    """Draws 40,000 sets of keys."""
    drawn = np.random.default_rng(n * d).standard_normal((40_000, n, d))
    cosines = drawn[:, :, 0] / np.linalg.norm(drawn, axis=2)
    largest = np.max(scipy.special.softmax(peak * cosines, axis=1), axis=1)
    error = np.std(largest) / np.sqrt(largest.size)
    assert abs(np.mean(largest) - dispersal.mean_largest_weight(n, d, peak)) <= 5 * error


def test_one_key_has_all_the_weight_and_no_strength_shares_it():
    assert dispersal.mean_largest_weight(1, 4, 2.0) == pytest.approx(1, abs=1e-6)
    assert dispersal.mean_largest_weight(20, 4, 1e-6) == pytest.approx(1 / 20, rel=1e-4)


def test_two_keys_on_a_circle_are_a_double_integral():
    angles = np.pi * (np.arange(600) + 0.5) / 600
    gaps = 3.0 * np.abs(np.cos(angles)[:, None] - np.cos(angles)[None, :])
    # The midpoint rule; the kink on the diagonal leaves an error of the step squared.
    assert dispersal.mean_largest_weight(2, 2, 3.0) == pytest.approx(np.mean(scipy.special.expit(gaps)), rel=1e-5)


@pytest.mark.parametrize(("n", "peak"), [(4, 1.0), (200, 3.0)])
def test_random_keys_stay_below_what_bounded_scores_allow(n, peak):
    mean = dispersal.mean_largest_weight(n, 4, peak)
    assert mean < dispersal.mean_weight_beside_nothing(n, peak) < dispersal.largest_weight(n, peak)


def test_one_score_beside_nothing_is_a_softmax():
    scores = np.array([1.7, 0, 0, 0])
    assert dispersal.mean_weight_beside_nothing(4, 1.7) == pytest.approx(scipy.special.softmax(scores)[0])


def test_a_pattern_asked_for_weighs_at_least_what_jensen_says():
    drawn = np.random.default_rng(1).standard_normal((20_000, 30, 6))
    cosines = drawn[:, :, 0] / np.linalg.norm(drawn, axis=2)
    weights = 1 / (1 + np.sum(np.exp(5.0 * (cosines[:, 1:] - 1)), axis=1))
    least = dispersal.least_weight_asked_for(30, 6, 5.0)
    assert least < np.mean(weights) < 1.2 * least
    assert dispersal.least_weight_asked_for(1, 6, 5.0) == 1


def test_a_sink_is_one_more_key_of_score_zero():
    scores = np.array([0.3, -1.2, 2.0])
    with_sink = scipy.special.softmax(np.append(scores, 0.0))[:3]
    factor = dispersal.sink_factor(np.sum(np.exp(scores)))
    assert with_sink == pytest.approx(factor * scipy.special.softmax(scores), rel=16 * EPS)
