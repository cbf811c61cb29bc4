"""The harmless window: its two walls, the delta method and its proved band."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys import small_noise as theory
from tests.tolerances import moment_atol


@pytest.mark.parametrize("beta", [0.5, 2.0, 8.0])
def test_without_noise_the_error_is_that_of_averaging(beta):
    n = 16
    # Weights e^beta / Z twice and 1 / Z on the others; c - half has these coordinates.
    z = 2 * math.exp(beta) + n - 2
    wanted = 2 * (math.exp(beta) / z - 0.5) ** 2 + (n - 2) / z**2
    assert abs(theory.averaging_error(n, beta, 0.0) - wanted) <= moment_atol(n)


@given(
    beta=st.floats(14, 40, width=32, allow_subnormal=False),
    x=st.floats(0.0625, 1.5, width=32, allow_subnormal=False),
)
def test_the_error_lies_in_the_proved_band(beta, x):
    variance = x**2 / (2 * beta**2)
    low, high = theory.delta_method_band(8, beta, variance)
    unit = theory.delta_method_error(beta, variance)
    share = theory.averaging_error(8, beta, variance) / unit
    atol = 9 * moment_atol(8) / unit
    assert low - atol <= share <= high + atol


@pytest.mark.parametrize(("x", "shortfall"), [(0.05, 0.0025), (0.2, 0.04), (0.5, 0.19)])
def test_the_delta_method_is_high_by_about_this_much(x, shortfall):
    beta = 30.0
    variance = x**2 / (2 * beta**2)
    share = theory.averaging_error(16, beta, variance) / theory.delta_method_error(beta, variance)
    # E tanh^2 y = E y^2 - (2/3) E y^4 + ...: 1 - x^2 and x^4-small terms above it.
    assert 1 - x**2 <= share <= 1 - x**2 + 2 * x**4
    assert round(1 - share, len(str(shortfall)) - 2) == shortfall


def first_order_covariance(weights, score_variances):
    """sum_i s_i^2 J_i J_i^T, J_i = alpha_i (v_i - c), for orthonormal values."""
    jacobian = np.diag(weights) - np.outer(weights, weights)
    return jacobian @ np.diag(score_variances) @ jacobian.T


def test_the_delta_method_is_the_first_order_of_the_covariance():
    # At beta of order one, where all keys carry weight: Cov / a tends to the first-order form as a -> 0.
    n, beta = 5, 1.0
    weights = np.exp(beta * np.eye(2, n).sum(axis=0))
    weights /= weights.sum()
    for variance in (1e-4, 1e-5):
        variances = np.full(n, 2 * variance * beta**2)
        exact = moments.weight_moments(beta * np.eye(2, n).sum(axis=0), variances).covariance
        first_order = first_order_covariance(weights, variances)
        # The next order is a factor s^2 smaller; third derivatives of a softmax weight are below one.
        assert np.all(np.abs(exact - first_order) <= 2 * variances[0] ** 2 + 2 * moment_atol(n))
    assert np.all(np.abs(first_order.sum(axis=1)) <= moment_atol(n))


def test_the_delta_method_error_is_the_trace_without_the_other_keys():
    weights, variance, beta = np.array([0.5, 0.5, 0.0]), 1e-3, 7.0
    covariance = first_order_covariance(weights, np.full(3, 2 * variance * beta**2))
    assert abs(np.trace(covariance) - theory.delta_method_error(beta, variance)) <= moment_atol(3)


def test_the_remainder_has_the_variance_of_its_first_term_under_little_noise():
    # tanh^2 y - w y^2 = -2 (y^4 - 3x^2 y^2) / 3 + ... for y = x g / sqrt(2), and Var(g^4 - 6 g^2) = 24.
    beta, x = 60.0, 0.01
    variance = theory.delta_method_remainder_variance(16, beta, x**2 / (2 * beta**2))
    assert abs(variance / (8 / 3 * x**4) - 1) <= 20 * x**2


def test_the_remainder_has_little_variance_under_much_noise():
    # tanh^2 y lies between 0 and 1, w y^2 has the deviation w x^2 / sqrt(2).
    x = 5.0
    most = (0.5 + theory.quadratic_share(x) * x**2 / math.sqrt(2)) / (x**2 / 2)
    assert theory.delta_method_remainder_variance(2, 30.0, x**2 / (2 * 30.0**2)) <= most**2


@pytest.mark.parametrize(("n", "beta"), [(2, 5.0), (16, 5.0), (16, 8.0)])
def test_the_remainder_varies_no_more_than_its_bound(n, beta):
    variance, draws = 0.3**2 / (2 * beta**2), 200_000
    z = beta * np.eye(2, n).sum(axis=0) + 0.3 * np.random.default_rng(0).standard_normal((draws, n))
    weights = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    error = np.sum((weights - np.eye(2, n).sum(axis=0) / 2) ** 2, axis=1)
    quadratic = theory.quadratic_share(0.3) * (z[:, 0] - z[:, 1]) ** 2 / 8
    remainder = (error - quadratic) / theory.delta_method_error(beta, variance)
    bound = theory.delta_method_remainder_variance(n, beta, variance)
    # The remainder goes like h = g^4 - 6g^2, and (h + 3)^2 has a standard deviation of 25 times its mean.
    assert remainder.var() <= bound * (1 + 6 * 25 / math.sqrt(draws))
    assert n > 2 or remainder.var() >= bound * (1 - 6 * 25 / math.sqrt(draws))


@pytest.mark.parametrize("variance", [1e-6, 1e-4])
def test_the_window_has_two_walls(variance):
    weak, best, strong = (
        theory.averaging_error(16, beta, variance) for beta in (1.0, 7.0, 3 / math.sqrt(2 * variance))
    )
    assert best < 0.01 < min(weak, strong)


def test_the_error_variance_is_that_of_a_chi_square_in_the_window():
    # The squared error is 2 D^2 with D nearly normal there: its variance is twice its squared mean.
    mean, spread = (f(16, 30.0, 1e-8) for f in (theory.averaging_error, theory.averaging_error_variance))
    x = theory.score_deviation(30.0, 1e-8)
    assert abs(spread / (2 * mean**2) - 1) <= 10 * x**2 + moment_atol(16) * 9 / mean**2


@pytest.mark.parametrize(("beta", "variance"), [(2.0, 0.05), (6.0, 0.01), (40.0, 0.3)])
def test_of_two_keys_one_weight_errs_by_the_logistic_of_a_normal(beta, variance):
    deviation = 2 * beta * math.sqrt(variance)
    g = np.linspace(-12, 12, 200_001)
    chance = np.exp(-(g**2) / 2) / np.sum(np.exp(-(g**2) / 2))
    wanted = chance @ (np.tanh(deviation * g / 2) / 2) ** 2
    assert theory.error_of_one_weight(2, beta, variance) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("n", [4, 16])
def test_of_exact_keys_one_weight_errs_by_what_it_lacks(n):
    weight = math.exp(1.5) / (2 * math.exp(1.5) + n - 2)
    assert theory.error_of_one_weight(n, 1.5, 0.0) == pytest.approx((weight - 0.5) ** 2, rel=1e-9)


@pytest.mark.parametrize("n", [4, 16])
def test_the_band_is_as_wide_as_the_weight_of_the_other_keys(n):
    beta, variance = 18.0, 1e-5
    _, high = theory.delta_method_band(n, beta, variance)
    # Exact to e^-beta: without noise the others have the weight (n - 2) / (2 e^beta + n - 2).
    others = (high - 1) / 1.5 * theory.delta_method_error(beta, variance)
    noise = math.exp(1.5 * variance * beta**2)
    assert others / noise == pytest.approx((n - 2) / (2 * math.exp(beta) + n - 2), rel=1e-5)
