"""The joint law of two heads' scores of one key against brute force."""

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import drawn_scores as theory
from attnlab_theory.theory.noisy_keys import moments

EPS = float(np.finfo(np.float64).eps)


def test_the_covariance_of_a_stretched_key_gives_its_scores_their_law():
    rng = np.random.default_rng(0)
    means, query, stretch = rng.standard_normal((4, 3)), rng.standard_normal(3), np.array([0.5, 0.0, 2.0, 0.1])
    expected = moments.score_laws(query, means, variance=0.25, stretch=stretch)[1]
    for mean, s, variance in zip(means, stretch, expected, strict=True):
        covariance = theory.stretched_covariance(mean, variance=0.25, stretch=s)
        scale = (query @ query) * (1 + np.sum(means**2)) * 3
        assert abs(query @ covariance @ query - variance) <= 32 * EPS * scale


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_scores_covariance_is_written_out(index):
    # Noise of key a along mu_a has variance 1/2 + a, all other noise variance a; the queries are (1, 1) and (1, 0).
    beta, variance = 3.0, 0.125
    along_a = variance + (0.5 if index == 0 else 0.0)
    wanted = beta**2 * np.array([[along_a + variance, along_a], [along_a, along_a]])
    assert np.array_equal(theory.scores_covariance(5, beta, variance, index), wanted)


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 1.0, 0.0), (2.0, 0.5, 0.7), (1.0, 4.0, -2.0)])
def test_the_variance_of_a_product(a, b, c):
    # Gauss-Hermite with 8 nodes is exact for the polynomials of degree four here.
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    x = np.sqrt(a) * nodes[:, None]
    y = c / np.sqrt(a) * nodes[:, None] + np.sqrt(b - c * c / a) * nodes[None, :]
    joint = weights[:, None] * weights[None, :]
    mean = np.sum(joint * x * y)
    variance = np.sum(joint * (x * y) ** 2) - mean**2
    assert abs(mean - c) <= 64 * EPS * (a + b)
    assert abs(variance - theory.product_variance(a, b, c)) <= 256 * EPS * (a + b) ** 2
