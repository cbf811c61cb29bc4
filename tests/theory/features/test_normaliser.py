"""The sign of a row's normaliser: keys that are all alike, and simulated rows."""

import math

import numpy as np
import pytest
import scipy.stats

from attnlab_theory.theory.features import normaliser as theory

Q, KEY = np.array([0.9, -0.4, 0.3]), np.array([-0.2, 0.8, 0.5])


@pytest.mark.parametrize("m", [4, 30])
def test_keys_that_are_alike_err_alike(m):
    deviation = math.sqrt(math.cosh(np.sum((Q - KEY) ** 2)) - 1)
    found = theory.not_positive_if_keys_err_alike(Q, np.stack([KEY] * 5), m=m)
    assert found == pytest.approx(scipy.stats.norm.cdf(-math.sqrt(m) / deviation), rel=1e-12)


def test_of_two_keys_the_errors_are_added_by_their_weights():
    other = np.array([0.5, -0.1, -0.6])
    keys = np.stack([KEY, other])
    weights = np.exp(keys @ Q) / np.sum(np.exp(keys @ Q))
    deviations = [math.sqrt(math.cosh(np.sum((Q - key) ** 2)) - 1) for key in keys]
    wanted = scipy.stats.norm.cdf(-math.sqrt(8) / float(weights @ deviations))
    assert theory.not_positive_if_keys_err_alike(Q, keys, m=8) == pytest.approx(wanted, rel=1e-12)


def test_cumulants_are_those_of_simulated_normalisers():
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(3, 3)) / 2
    weights = np.exp(keys @ Q) / np.sum(np.exp(keys @ Q))
    w = rng.standard_normal((1_000_000, 3))
    ratios = np.cos(w @ (Q - keys).T) * np.exp(np.sum((Q - keys) ** 2, axis=1) / 2)
    drawn = ratios @ weights - 1
    second, third = theory.cumulants(Q, keys)
    assert second == pytest.approx(np.mean(drawn**2), abs=6 * np.std(drawn**2) / 1000)
    assert third == pytest.approx(np.mean(drawn**3), abs=6 * np.std(drawn**3) / 1000)


def test_the_chance_is_that_of_simulated_rows():
    rng = np.random.default_rng(1)
    keys = 1.4 * rng.normal(size=(4, 3))
    q, m, rows = 1.4 * Q, 24, 100_000
    weights = np.exp(keys @ q) / np.sum(np.exp(keys @ q))
    total = np.zeros(rows)
    for _ in range(m):
        w = rng.standard_normal((rows, 3))
        total += (np.cos(w @ (q - keys).T) * np.exp(np.sum((q - keys) ** 2, axis=1) / 2)) @ weights
    simulated = float(np.mean(total <= 0))
    found, _ = theory.not_positive(q, keys, m=m)
    assert found == pytest.approx(simulated, abs=6 * 0.5 / math.sqrt(rows))


@pytest.mark.parametrize("m", [6, 40])
def test_the_correction_is_edgeworths_for_the_skewness_of_a_mean(m):
    keys = np.stack([KEY, np.array([0.5, -0.1, -0.6])])
    second, third = theory.cumulants(Q, keys)
    skewness = third / second**1.5 / m**0.5
    z = -((m / second) ** 0.5)
    wanted = scipy.stats.norm.cdf(z) - skewness / 6 * (z**2 - 1) * scipy.stats.norm.pdf(z)
    found, correction = theory.not_positive(Q, keys, m=m)
    assert found == pytest.approx(max(wanted, 0.0), rel=1e-9)
    assert correction == pytest.approx(abs(wanted - scipy.stats.norm.cdf(z)), rel=1e-9)
