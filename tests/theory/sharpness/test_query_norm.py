"""A normed query among two keys, and among keys that are drawn."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.sharpness import hull, query_norm, softcap


def test_beside_one_key_in_space_the_cosine_is_even():
    t = np.linspace(-1, 1, 200_001)
    weights = 1 / (1 + np.exp(3**0.5 * (t - 1)))
    assert query_norm.own_weight(2, 3) == pytest.approx(np.trapezoid(weights, t) / 2, rel=1e-6)


def test_drawn_keys_leave_the_query_as_much():
    drawn = np.random.default_rng(5).standard_normal((4000, 20, 8))
    cosines = drawn[:, :, 0] / np.linalg.norm(drawn, axis=2)
    weights = 1 / (1 + np.sum(np.exp(8**0.5 * (cosines[:, 1:] - 1)), axis=1))
    error = np.std(weights) / 4000**0.5
    assert abs(np.mean(weights) - query_norm.own_weight(20, 8)) < 5 * error
    assert query_norm.own_weight(20, 8) < query_norm.own_weight_beside_zeros(20, 8)


def test_a_soft_cap_costs_odds_where_a_clip_costs_none():
    assert softcap.lost_odds(20.0, 50.0) == pytest.approx(math.exp(20 - 50 * math.tanh(0.4)))
    assert softcap.lost_odds(1.0, 50.0) == pytest.approx(math.exp(1 / 7500), rel=1e-6)
    assert [softcap.lost_odds_of_a_clip(s, 50.0) for s in (20.0, 52.0)] == pytest.approx([1.0, math.exp(2)])


def test_the_furthest_difference_is_further_than_the_plane():
    chance = np.random.default_rng(0)
    means = chance.dirichlet(np.full(5, 0.2), 4000)
    distances = np.linalg.norm(np.eye(5)[0] - 0.4 * np.eye(5)[1] - means, axis=1)
    assert hull.furthest(0.4) <= distances.min() + 1e-12
    assert hull.furthest(0.4) == pytest.approx(np.linalg.norm(np.eye(5)[0] - 0.4 * np.eye(5)[1] - np.eye(5)[0]))
    assert hull.distance_of_the_plane(5, 0.4) == pytest.approx(0.4 / 5**0.5)
