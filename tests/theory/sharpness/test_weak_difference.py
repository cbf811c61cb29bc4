"""A weak query minus an even map, by numpy."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sharpness import weak_difference


def difference(n: int, beta: float, wanted: int, lengths: np.ndarray) -> np.ndarray:
    """The weights over 1 - lambda, if wanted keys score beta times these lengths."""
    scores = np.zeros(n)
    scores[:wanted] = beta * lengths
    lam = weak_difference.exact_lambda(n, beta, wanted)
    return (scipy.special.softmax(scores) - lam / n) / (1 - lam)


@pytest.mark.parametrize("beta", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("wanted", [1, 2])
def test_at_that_lambda_unwanted_keys_have_no_weight(beta, wanted):
    weights = difference(7, beta, wanted, np.ones(wanted))
    assert weights == pytest.approx((np.arange(7) < wanted) / wanted, abs=1e-11)
    plain = scipy.special.softmax(beta * (np.arange(7) < wanted))
    assert weak_difference.miss_of_one_map(7, beta, wanted) == pytest.approx(1 / wanted - plain[0])


@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0])
def test_the_hedging_error_is_a_mean_over_the_length_of_one_key(beta):
    nodes, chances = np.polynomial.hermite_e.hermegauss(160)
    chances /= chances.sum()
    half = (np.arange(6) < 2) / 2
    errors = [np.sum((difference(6, beta, 2, np.array([1 + g / 2**0.5, 1.0])) - half) ** 2) for g in nodes]
    mean, variance = weak_difference.hedging_moments(6, beta)
    assert mean == pytest.approx(chances @ errors, rel=1e-6)
    assert variance == pytest.approx(chances @ (np.array(errors) - mean) ** 2, rel=1e-5)


def test_weak_queries_have_the_limits():
    assert weak_difference.hedging_moments(16, 1e-4)[0] == pytest.approx(
        weak_difference.hedging_error_of_weak_queries(16), rel=1e-3
    )
    # Deviations are divided by c, and the mean weight is 1 / (2c): the best c by a search.
    n, c = 16, np.linspace(1, 4, 30_001)
    floor = (1 - 1 / c) / n
    wanted = (1 / (2 * c) + floor - 0.5) ** 2
    errors = 2 * wanted + (n - 2) * floor**2 + weak_difference.hedging_error_of_weak_queries(n) / c**2
    assert weak_difference.hedging_error_at_the_best_lambda(n) == pytest.approx(errors.min(), rel=1e-4)


def test_one_head_at_its_best_errs_more_than_two_averaged_ones():
    assert weak_difference.least_one_head_error(16, 1e-6) == pytest.approx(0.1666, abs=1e-4)
    assert weak_difference.one_head_error(16, 2.59, 1e-6) == pytest.approx(0.1666, abs=1e-4)
    assert weak_difference.two_averaged_heads_error(16, 1e-6) < 0.0247


def test_noise_of_keys_moves_weak_differences_as_drawn():
    n, beta, a, lam = 8, 0.3, 1e-4, weak_difference.exact_lambda(8, 0.3, 2)
    noise = np.random.default_rng(5).standard_normal((20_000, n)) * beta * math.sqrt(2 * a)
    powers = np.exp(beta * (np.arange(n) < 2) + noise)
    weights = (powers / powers.sum(axis=1, keepdims=True) - lam / n) / (1 - lam)
    errors = np.sum((weights - (np.arange(n) < 2) / 2) ** 2, axis=1)
    mean, variance = weak_difference.noise_moments(n, beta, 2, a)
    assert abs(np.mean(errors) - mean) < 5 * np.std(errors) / 20_000**0.5
    assert np.var(errors) == pytest.approx(variance, rel=0.1)
    weak = weak_difference.noise_moments(n, 1e-6, 2, a)[0]
    assert weak == pytest.approx(weak_difference.noise_of_weak_queries(n, 2, a), rel=1e-5)
    assert weak_difference.noise_of_one_map(n, beta, 2, a) == pytest.approx(mean * (1 - lam) ** 2)
