"""Score laws against brute force, and against the structured noise of theory/noisy_keys/moments.py."""

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.any_covariance import product_variance, score_laws, stretched_covariance

RNG = np.random.default_rng(0)
MEANS = RNG.standard_normal((4, 3))
FACTORS = RNG.standard_normal((4, 3, 3))
COVARIANCES = np.stack([f @ f.T for f in FACTORS])
QUERY = RNG.standard_normal(3)
EPS = float(np.finfo(np.float64).eps)


def test_scores_are_sums_of_independent_normals():
    # q . (mu + F g) = q . mu + sum_j (F^T q)_j g_j: a sum of independent normals, variances added.
    means, variances = score_laws(QUERY, MEANS, COVARIANCES)
    for i in range(4):
        assert abs(means[i] - sum(QUERY * MEANS[i])) <= 8 * EPS * np.abs(QUERY * MEANS[i]).sum()
        parts = [(QUERY @ FACTORS[i][:, j]) ** 2 for j in range(3)]
        assert abs(variances[i] - sum(parts)) <= 64 * EPS * (QUERY @ QUERY) * np.sum(FACTORS[i] ** 2)


def test_the_stretched_noise_is_a_case():
    stretch = np.array([0.5, 0.0, 2.0, 0.1])
    covariances = np.stack(
        [stretched_covariance(m, variance=0.25, stretch=s) for m, s in zip(MEANS, stretch, strict=True)]
    )
    expected = moments.score_laws(QUERY, MEANS, variance=0.25, stretch=stretch)
    for ours, theirs in zip(score_laws(QUERY, MEANS, covariances), expected, strict=True):
        scale = (QUERY @ QUERY) * (1 + np.sum(MEANS**2)) * 3
        assert np.abs(ours - theirs).max() <= 32 * EPS * scale


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
    assert abs(variance - product_variance(a, b, c)) <= 256 * EPS * (a + b) ** 2


def test_what_is_no_covariance_is_refused():
    with pytest.raises(ValueError, match="must be symmetric"):
        score_laws(QUERY, MEANS, FACTORS)
    with pytest.raises(ValueError, match="must not give a negative variance"):
        score_laws(QUERY, MEANS, -COVARIANCES)
