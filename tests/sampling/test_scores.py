"""Scores drawn directly have the law of the scores of drawn keys, jointly over queries."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sampling import (
    ScoreLaw,
    hashed_normal,
    noise_factors,
    noisy_scores,
    orthonormal,
    score_law,
)
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval
from tests.sampling.laws import has_covariance, mean_interval
from tests.tolerances import orthonormal_atol

ERROR_RATE = 1e-6 / 16
DRAWS = 2**14

MEANS = jnp.asarray([[2.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, -0.5, 1.5]])
QUERIES = jnp.asarray([[1.0, 0.5, -1.0], [0.0, 2.0, 0.25]])
VARIANCES = jnp.asarray([0.01, 0.25, 1.0])
STRETCH = jnp.asarray([0.5, 0.0, 2.0])
FACTORS = noise_factors(MEANS, variance=VARIANCES, stretch=STRETCH)


def exact_law(q=QUERIES, means=MEANS, factors=FACTORS) -> tuple[np.ndarray, list[np.ndarray]]:
    q, means, factors = (np.asarray(x, np.float64) for x in (q, means, factors))
    return q @ means.T, [q @ f @ f.T @ q.T for f in factors]


def covariance_atol(q, factors) -> float:
    """Absolute rounding of A A^T: a backward stable QR of entries of Q F, and a product of t terms."""
    largest = float(np.abs(np.asarray(q)).sum(axis=1).max() * np.abs(np.asarray(factors)).max())
    t, d, r = q.shape[0], q.shape[1], factors.shape[2]
    return (orthonormal_atol(t, r) + 2 * (d + t) * float(np.finfo(np.float32).eps)) * largest**2 * r


@pytest.mark.parametrize("queries", [QUERIES, QUERIES[:1], jnp.concatenate([QUERIES, QUERIES, -QUERIES])])
def test_the_factors_give_the_covariances(queries):
    law = score_law(queries, MEANS, FACTORS)
    mean, covariances = exact_law(queries)
    tolerance = covariance_atol(queries, FACTORS)
    assert np.abs(np.asarray(law.mean) - mean).max() <= tolerance
    assert law.factor.shape == (3, queries.shape[0], min(queries.shape[0], 4))
    for factor, covariance in zip(np.asarray(law.factor, np.float64), covariances, strict=True):
        assert np.abs(factor @ factor.T - covariance).max() <= tolerance


def test_equal_queries_get_equal_scores():
    # A Cholesky factor of the singular covariance would set them apart by the root of the rounding error.
    law = score_law(jnp.stack([QUERIES[0], QUERIES[0], -QUERIES[0]]), MEANS, FACTORS)
    scores = np.asarray(noisy_scores(key_for(0), law, 100))
    tolerance = 8 * np.sqrt(covariance_atol(QUERIES, FACTORS) * float(np.finfo(np.float32).eps))
    assert np.abs(scores[0] - scores[1]).max() <= tolerance
    assert np.abs(scores[0] + scores[2]).max() <= tolerance


@pytest.mark.slow("factors of the scores, which give their covariances, stay inside")
@pytest.mark.parametrize("source", [{}, {"normal": hashed_normal}], ids=["threefry", "hashed"])
def test_scores_have_their_joint_law(source):
    law = score_law(QUERIES, MEANS, FACTORS)
    scores = np.asarray(noisy_scores(key_for(1), law, DRAWS, **source), np.float64)
    mean, covariances = exact_law()
    assert scores.shape == (2, 3, DRAWS)
    noise = np.moveaxis(scores - mean[:, :, None], -1, 0)
    whole = np.zeros((2, 3, 2, 3))
    for i, covariance in enumerate(covariances):
        whole[:, i, :, i] = covariance
        for t in range(2):
            interval = mean_interval(noise[:, t, i], covariance[t, t], ERROR_RATE / 6)
            assert interval.contains(Interval.point(0.0))
    # Correlated over the queries of one key; independent over keys.
    assert has_covariance(noise.reshape(DRAWS, 6), whole.reshape(6, 6), ERROR_RATE)


def test_queries_drawn_apart_would_be_seen():
    mean, covariances = exact_law()
    alone = [noisy_scores(key_for(2, str(t)), score_law(QUERIES[t : t + 1], MEANS, FACTORS), DRAWS) for t in (0, 1)]
    noise = np.stack([np.asarray(z, np.float64)[0, 1] - mean[t, 1] for t, z in enumerate(alone)], axis=1)
    assert not has_covariance(noise, covariances[1], ERROR_RATE)
    assert has_covariance(noise, np.diag(np.diag(covariances[1])), ERROR_RATE)


def test_without_noise_scores_are_their_means_exactly():
    law = score_law(QUERIES, MEANS, jnp.zeros_like(FACTORS))
    np.testing.assert_array_equal(
        noisy_scores(key_for(3), law, 4), np.repeat(np.asarray(law.mean)[:, :, None], 4, axis=2)
    )


def test_rotating_queries_and_keys_changes_nothing():
    turn = orthonormal(key_for(4), 3, 3)
    turned = score_law(QUERIES @ turn.T, MEANS @ turn.T, jnp.einsum("ed,sdr->ser", turn, FACTORS))
    tolerance = 2 * covariance_atol(QUERIES, FACTORS)
    law = score_law(QUERIES, MEANS, FACTORS)
    assert np.abs(np.asarray(turned.mean - law.mean)).max() <= tolerance
    for one, other in zip(np.asarray(turned.factor), np.asarray(law.factor), strict=True):
        assert np.abs(one @ one.T - other @ other.T).max() <= tolerance


@pytest.mark.usefixtures("unchecked_shapes")
def test_shapes_that_disagree_are_refused():
    with pytest.raises(ValueError, match="key width must agree: q has 2, means has 3"):
        score_law(QUERIES[:, :2], MEANS, FACTORS)
    with pytest.raises(ValueError, match="keys must agree: means has 2, factors has 3"):
        score_law(QUERIES, MEANS[:2], FACTORS)
    with pytest.raises(ValueError, match=r"q must have 2 axes, but has shape \(3,\)"):
        score_law(QUERIES[0], MEANS, FACTORS)
    with pytest.raises(ValueError, match="factor has 3, mean has 2"):
        noisy_scores(key_for(0), ScoreLaw(jnp.zeros((2, 2)), jnp.zeros((3, 2, 2))), 1)


def test_no_replicates_are_refused():
    with pytest.raises(ValueError, match="replicates must be positive, not -1"):
        noisy_scores(key_for(0), score_law(QUERIES, MEANS, FACTORS), -1)


def test_queries_that_are_not_floating_have_no_law(unchecked_shapes):
    for wrong in (QUERIES.astype(complex), QUERIES > 0):
        with pytest.raises(ValueError, match=r"^q must"):
            score_law(wrong, MEANS, FACTORS)
