"""Margins and bounds for four keys against published digits, general solvers and random queries."""

import math

import numpy as np
import pytest
import scipy.linalg

from attnlab_theory.claims.selecting.four_keys import KEYS
from attnlab_theory.theory.selecting import four_keys
from tests.tolerances import margin_atol, simplex_search_atol


def test_the_published_queries_come_out():
    assert np.round(four_keys.pair_query(KEYS, 2.0), 4).tolist() == [0.6042, 0.7967, -0.0141]
    assert four_keys.pair_query(KEYS, math.inf) == pytest.approx([1, 1, 1 / 59.5], abs=margin_atol(KEYS))


def test_the_published_weights_come_out():
    mean, pair = np.mean(KEYS, axis=0), np.mean(KEYS[:2], axis=0)
    assert np.round(four_keys.weights(KEYS, mean), 3).tolist() == [0.228, 0.286, 0.240, 0.246]
    assert np.round(four_keys.weights(KEYS, pair), 3).tolist() == [0.356, 0.356, 0.140, 0.148]
    assert np.round(four_keys.weights(KEYS, 10 * pair)[:2], 3).tolist() == [0.495, 0.505]
    assert four_keys.weights(KEYS, 1e5 * pair)[1] == 1


@pytest.mark.parametrize("norm", [2.0, math.inf])
@pytest.mark.parametrize("seed", range(5))
def test_no_query_of_that_norm_has_a_larger_margin(norm, seed):
    keys = KEYS if seed == 0 else np.random.default_rng(seed).normal(size=(4, 3))
    best = four_keys.pair_query(keys, norm)
    along = keys[0] - keys[1]
    assert best @ along == pytest.approx(0, abs=margin_atol(keys))
    assert np.linalg.norm(best, ord=norm) <= 1 + margin_atol(keys)

    # Queries that score both alike form a plane: try every angle in it.
    plane = scipy.linalg.null_space(along[None, :])
    for angle in np.linspace(0, 2 * np.pi, 721):
        rival = plane @ np.array([np.cos(angle), np.sin(angle)])
        rival = rival / np.linalg.norm(rival, ord=norm)
        assert four_keys.margin(keys, rival, (0, 1)) <= four_keys.margin(keys, best, (0, 1)) + margin_atol(keys)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="not 1"):
        four_keys.pair_query(KEYS, 1.0)


def test_the_even_bound_holds_and_is_reached():
    rng = np.random.default_rng(0)
    for query in rng.normal(size=(200, 3)):
        assert four_keys.furthest_from_even(KEYS, query, range(4)) <= four_keys.even_bound(KEYS, query)
    # One key ahead of many that tie: the ratio tends to (n - 1) / n as the range shrinks.
    keys = np.vstack([[1.0], np.zeros((99, 1))])
    small = np.array([1e-4])
    reached = four_keys.furthest_from_even(keys, small, range(100)) / four_keys.even_bound(keys, small)
    assert reached == pytest.approx(0.99, abs=1e-4 + simplex_search_atol(1))


@pytest.mark.parametrize("seed", range(3))
def test_weights_grow_into_the_softmax(seed):
    rng = np.random.default_rng(seed)
    keys, query = rng.normal(size=(4, 3)), rng.normal(size=3)
    grown = four_keys.grown_weights(keys, query, (0.5, 2.0, 30.0, 1e4))
    expected = [four_keys.weights(keys, strength * query) for strength in (0.5, 2.0, 30.0, 1e4)]
    assert grown == pytest.approx(np.array(expected), abs=four_keys.GROWN)


def test_weights_that_cannot_be_grown_are_refused():
    with pytest.raises(ArithmeticError, match="did not grow to strength 1"):
        four_keys.grown_weights(np.full((2, 1), np.nan), np.ones(1), (1.0,))


def test_the_longer_key_gets_its_share_from_lengths_alone():
    two = KEYS[:2]
    expected = four_keys.weights(two, 1e3 * np.mean(two, axis=0))[1]
    assert four_keys.share_of_the_longer(KEYS, 1e3) == pytest.approx(expected, rel=1e-9)
    assert four_keys.share_of_the_longer(np.array([[3.0, 4.0], [0.0, 5.0]]), 1e3) == 0.5


def test_the_pair_bound_is_the_most_that_two_others_can_do():
    x = math.exp(-0.7)

    def off(a, b):
        weights = np.array([1, 1, a, b]) / (2 + a + b)
        return np.max(np.abs(weights - [0.5, 0.5, 0, 0]))

    tried = [off(a, b) for a in np.linspace(0, x, 41) for b in np.linspace(0, x, 41)]
    assert max(tried) == pytest.approx(four_keys.pair_bound(0.7), rel=8 * np.finfo(float).eps)
