"""Slopes of self-attention against finite differences and direct maximisation."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from attnlab_theory.theory.limits import lipschitz


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_the_slope_at_zero_is_a_difference_quotient(size):
    def first_output(x):
        tokens = np.array([x, size, -size, size, -size])
        return scipy.special.softmax(2.0 * x * tokens) @ tokens

    step = 1e-5
    found = (first_output(step) - first_output(-step)) / (2 * step)
    # The third derivative is below 64 (2 size)^4: truncation step^2 / 6 of that; rounding eps * size / step.
    error = 64 * (2 * size) ** 4 * step**2 / 6 + 16 * np.finfo(float).eps * size / step
    assert abs(found - lipschitz.dot_product_slope(5, size, 2.0)) <= error


@pytest.mark.parametrize("size", [0.4, 0.9, 2.0])
def test_slopes_by_distances_are_difference_quotients(size):
    def first_output(tokens):
        return scipy.special.softmax(-((tokens - tokens[0]) ** 2)) @ tokens

    tokens, step = np.array([0.0, size, -size, size, -size]), 1e-5
    slopes = [
        (first_output(tokens + step * move) - first_output(tokens - step * move)) / (2 * step) for move in np.eye(5)
    ]
    # Third derivatives are below 64 (2 + 2 size)^4: truncation step^2 / 6 of that; rounding eps * size / step.
    error = 64 * (2 + 2 * size) ** 4 * step**2 / 6 + 16 * np.finfo(float).eps * (1 + size) / step
    assert abs(slopes[0] - lipschitz.own_distance_slope(5, size)) <= error
    assert abs(np.sum(np.abs(slopes)) - lipschitz.distance_slope(5, size)) <= 5 * error


@pytest.mark.parametrize("n", [3, 9, 201])
def test_slopes_by_distances_stay_below_the_constant_and_come_near_it(n):
    slopes = [lipschitz.distance_slope(n, size) for size in np.linspace(0.0, 6.0, 1000)]
    assert lipschitz.distance_constant(n) - 2 < max(slopes) <= lipschitz.distance_constant(n)
    assert slopes[-1] == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("n", [2, 9, 200])
def test_the_most_score_lost_is_a_maximum(n):
    def lost(u):
        return -(n - 1) * u * np.exp(-u) / (1 + (n - 1) * np.exp(-u))

    found = scipy.optimize.minimize_scalar(lost, bounds=(0.0, 30.0), method="bounded", options={"xatol": 1e-9})
    # A maximum is flat: an argument good to 1e-8 gives the value to rounding.
    assert -found.fun == pytest.approx(lipschitz.most_score_lost(n), rel=1e-12)
    spread = np.random.default_rng(n).exponential(3.0, (2000, n - 1))
    weights = np.exp(-spread) / (1 + np.sum(np.exp(-spread), axis=1, keepdims=True))
    assert np.max(np.sum(weights * spread, axis=1)) <= lipschitz.most_score_lost(n)


def test_the_constant_grows_like_the_logarithm():
    ratio = lipschitz.distance_constant(10**12) / (4 * np.log(10**12))
    assert 0.8 < ratio < 1
    assert lipschitz.distance_constant(1) == 1
