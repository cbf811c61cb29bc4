"""What tests of linear attention share: the quadratic form that defines it, points, chunks small enough to see."""

import contextlib

import numpy as np
import pytest

from attnlab_theory.attention import linear

M, V, D = 4, 3, 2
"""Features, width of values, width of queries and keys."""


@contextlib.contextmanager
def chunks_of(size: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "CHUNK", size)
        yield


def quadratic(phi_q, phi_k, v, causal: bool):
    """The definition: all weights, masked, normalised."""
    weights = phi_q @ phi_k.T
    if causal:
        weights = weights * np.tri(weights.shape[0], dtype=weights.dtype)
    return weights @ v / weights.sum(axis=1, keepdims=True)


def points(t: int, s: int, d: int = D, m: int = M, seed: int = 0):
    """Queries, keys, values, a projection."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((t, d), (s, d), (s, V), (m, d))]


def distance(a, b) -> float:
    return float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max(initial=0))
