"""Ranks of absorbed matrices, sizes of caches, and what grouped heads miss."""

import numpy as np
import pytest

from attnlab_theory.theory.shared_keys import latents


@pytest.mark.parametrize(("d", "distances"), [(2, 5), (4, 3), (6, 40)])
def test_absorbed_matrices_have_the_rank_of_their_waves(d, distances):
    angles = 7.0 ** (-2 * np.arange(d // 2) / d)
    at = np.arange(distances)[:, None]
    waves = np.concatenate([np.cos(at * angles), np.sin(at * angles)], axis=1)
    assert latents.absorbed_matrices(d, distances) == np.linalg.matrix_rank(waves)


def test_two_frequencies_that_are_one_modulo_a_turn_span_less():
    """Why the claim needs that no two of +-theta are equal modulo 2 pi: 1 and 2 pi - 1 give rank 2."""
    at = np.arange(20)[:, None]
    angles = np.array([1.0, 2 * np.pi - 1.0])
    assert np.linalg.matrix_rank(np.concatenate([np.cos(at * angles), np.sin(at * angles)], axis=1), tol=1e-9) == 2


def test_the_caches_of_deepseek():
    theirs = {"by_layers": 95, "by_groups": 8, "by_width": 128, "by_bits": 16}
    sizes = {"layers": 60, "latent": 512, "turned": 64, **theirs}
    assert latents.cache_saved(bits=16, **sizes) == pytest.approx(1 - 34_560 / 194_560)
    assert round(latents.cache_saved(bits=6, **sizes), 3) == 0.933


def test_grouped_heads_miss_half_of_maps_with_equal_singular_values():
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    queries = [np.linalg.qr(np.random.default_rng(i).standard_normal((8, 2)))[0] for i in (1, 2)]
    stacked = np.concatenate([q @ k for q, k in zip(queries, (frame[:2], frame[2:4]), strict=True)])
    squares = np.linalg.svd(stacked, compute_uv=False) ** 2
    assert squares[2:].sum() / squares.sum() == pytest.approx(latents.lost_at_equal_cache())
