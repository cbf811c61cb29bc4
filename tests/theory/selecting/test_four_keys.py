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
