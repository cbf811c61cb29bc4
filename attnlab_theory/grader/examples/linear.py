"""The reference of linear.toml, typical wrong answers, and what must hold of every answer."""

import numpy as np


def draw_heads(rng, size):
    """Queries, keys and values of one head."""
    d, m = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    return {"q": rng.normal(size=(size, d)), "k": rng.normal(size=(size, d)), "v": rng.normal(size=(size, m))}


def features(x):
    """The elu of x, plus 1."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def weighed(weights, v):
    """Averages of values."""
    return weights @ v / np.sum(weights, axis=1, keepdims=True)


def linear_attention(q, k, v):
    """By all weights at once: quadratic, and easy to believe."""
    return weighed(np.tril(features(q) @ features(k).T), v)


def sees_the_future(q, k, v):
    """The sums are over all tokens."""
    return weighed(features(q) @ features(k).T, v)


def no_normaliser(q, k, v):
    """Nothing is divided."""
    return np.tril(features(q) @ features(k).T) @ v


def no_features(q, k, v):
    """Plain dot products are the weights."""
    return weighed(np.tril(q @ k.T), v)


def equal_values_come_back(f, q, k, v):
    """If all values are 1, every output is 1."""
    return np.max(np.abs(f(q, k, np.ones_like(v)) - 1))
