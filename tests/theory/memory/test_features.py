"""Moments of cosines, and weights of positive features, against other ways to the same number."""

import itertools

import numpy as np
import pytest

from attnlab_theory.theory.memory import features


@pytest.mark.parametrize("power", [1, 2, 3])
def test_a_moment_of_a_cosine_is_an_integral_over_the_angle(power):
    angles = np.linspace(0, np.pi, 20001)
    for d in (2, 3, 8):
        density = np.sin(angles) ** (d - 2)
        moment = np.trapezoid(density * np.cos(angles) ** (2 * power), angles) / np.trapezoid(density, angles)
        assert features.cosine_moment(d, power) == pytest.approx(moment, rel=1e-6)


def test_a_state_has_one_feature_for_each_multiset_of_coordinates():
    assert features.state_width(3, 2) == len([*itertools.combinations_with_replacement(range(3), 2)])
    assert features.power_error(9, 4, 1) == 2 == features.power_error(9, 4, 2) / (3 / 24) / 4


def test_the_variance_of_powers_is_that_of_independent_terms_in_the_plane():
    cosines = np.cos(2 * np.pi * np.arange(64) / 64) ** 4
    assert features.power_variance(5, 2, 2) == pytest.approx(4 * np.var(cosines), rel=1e-12)


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def test_two_narrow_keys_weigh_what_a_double_integral_says():
    """At d = 1 and n = 2 the weight is phi(x) / (phi(x) + phi(y))."""
    x = np.linspace(-9, 9, 1801)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    weights = phi(x)[:, None] / (phi(x)[:, None] + phi(x)[None, :])
    assert features.positive_self_weight(2, 1) == pytest.approx(density @ weights @ density, abs=1e-6)


def test_drawn_keys_weigh_as_the_integral_says():
    rng = np.random.default_rng(0)
    drawn = phi(rng.standard_normal((20_000, 6, 3)))
    products = np.einsum("xnd,xd->xn", drawn, drawn[:, 0])
    weights = products[:, 0] / products.sum(axis=1)
    error = np.std(weights) / np.sqrt(len(weights))
    assert features.positive_self_weight(6, 3) == pytest.approx(np.mean(weights), abs=5 * error)


def test_wide_keys_have_the_limit_of_their_moments():
    x = np.linspace(-9, 9, 18001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    ratio = (density @ phi(x) ** 2) / (density @ phi(x)) ** 2
    assert pytest.approx(ratio, abs=2e-5) == features.ASKED_OVER_MEAN
    assert features.positive_self_weight(16, 400) == pytest.approx(features.wide_self_weight(16), rel=2e-3)
