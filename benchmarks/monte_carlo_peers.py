"""The noisy-key problem that benchmarks/monte_carlo.py times, and its solutions in numpy and scipy."""

import numpy as np

N, D, BETA, VARIANCE, STRETCH = 16, 64, 5.0, 0.01, 0.5
"""n keys of width d, the query's strength, the variance of the keys' noise, the first key's extra stretch."""


def _frame(rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((D, N)))[0].T.astype(np.float32)


def _add_weights(total: np.ndarray, scores: np.ndarray) -> None:
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=1, keepdims=True)
    total[0] += weights.sum(axis=0)
    total[1] += np.einsum("ns,ns->s", weights, weights)


def numpy_keys(trials: int, rng: np.random.Generator, chunk: int = 256) -> np.ndarray:
    """Keys by the structure of their noise, in chunks that fit the cache, single precision.

    Noise is multiplied into the query before it is scaled, so the keys themselves are never stored. In numpy this
    is the fastest way to draw n d normals and take n dot products in a trial.
    """
    means = _frame(rng)
    query = BETA * (means[0] + means[1])
    scores_without = means @ query
    normals = np.empty((chunk, N, D), np.float32)
    total = np.zeros((2, N))
    for _ in range(trials // chunk):
        rng.standard_normal(out=normals, dtype=np.float32)
        scores = (normals.reshape(-1, D) @ query).reshape(chunk, N)
        scores *= np.float32(np.sqrt(VARIANCE))
        scores += scores_without
        scores[:, 0] += np.float32(np.sqrt(STRETCH)) * scores_without[0] * rng.standard_normal(chunk, np.float32)
        _add_weights(total, scores)
    return total / trials


def numpy_scores(trials: int, rng: np.random.Generator, chunk: int = 4096) -> np.ndarray:
    """Scores drawn directly, vectorised, single precision."""
    means = _frame(rng)
    query = BETA * (means[0] + means[1])
    scores_without = means @ query
    stretch = np.zeros(N, np.float32)
    stretch[0] = STRETCH
    deviations = np.sqrt(VARIANCE * query @ query + stretch * scores_without**2).astype(np.float32)
    scores = np.empty((chunk, N), np.float32)
    total = np.zeros((2, N))
    for _ in range(trials // chunk):
        rng.standard_normal(out=scores, dtype=np.float32)
        scores *= deviations
        scores += scores_without
        _add_weights(total, scores)
    return total / trials


def scipy_keys(trials: int, rng: np.random.Generator, chunk: int = 1024) -> np.ndarray:
    """scipy.stats.multivariate_normal, one frozen law for each key."""
    from scipy.stats import multivariate_normal

    means = _frame(rng).astype(np.float64)
    query = BETA * (means[0] + means[1])
    covariances = [
        VARIANCE * np.eye(D) + (STRETCH if i == 0 else 0) * np.outer(means[i], means[i]) for i in range(N)
    ]
    laws = [multivariate_normal(mean, covariance) for mean, covariance in zip(means, covariances, strict=True)]
    total = np.zeros((2, N))
    for _ in range(trials // chunk):
        scores = np.stack([law.rvs(chunk, random_state=rng) @ query for law in laws], axis=1)
        _add_weights(total, scores)
    return total / trials
