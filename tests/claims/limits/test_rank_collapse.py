"""A layer in residual coordinates is the real operator's, and goes on where float64 ends."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention
from attnlab_theory.claims.limits.rank_collapse import CUBES, PAIR, Maps, Scores, _crowd, residual_layer


def crowd(seed, size):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(3), size * rng.standard_normal((6, 3)), Maps(*rng.standard_normal((2, 3, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_residual_coordinates_are_the_real_operator(seed):
    with jax.enable_x64(True):
        centre, residuals, maps = jax.tree.map(jnp.asarray, crowd(seed, 0.3))
        tokens = centre[None] + residuals
        for _ in range(2):
            tokens = attention(tokens @ maps.form, tokens, tokens @ maps.values.T, scale=1.0)
            centre, residuals = residual_layer(centre, residuals, maps)
            assert np.allclose(tokens, centre[None] + residuals, rtol=0, atol=1e-12)


def test_what_is_left_is_cubic_far_below_float64s_roundings():
    with jax.enable_x64(True):
        centre, residuals, maps = jax.tree.map(jnp.asarray, crowd(0, 1e-30))
        after = np.asarray(residual_layer(centre, residuals, maps)[1])
        weights = np.full(6, 1 / 6)
        residuals = np.asarray(residuals)
        spread = residuals - weights @ residuals
        expected = residuals @ maps.form @ (spread.T @ spread / 6) @ maps.values.T
        assert np.allclose(after, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize(("scores", "sign"), [(Scores.IDENTITY, 1), (Scores.OPPOSED, -1)])
def test_a_crowd_has_the_scores_of_its_setting(scores, sign):
    setting = CUBES.at(**CUBES.settings[0].fields() | {"scores": scores})
    centre, tokens, maps = _crowd(jax.random.key(0), setting)
    assert np.array_equal(maps.form, sign * np.eye(setting.d))
    assert np.array_equal(maps.values, np.eye(setting.d))
    assert np.allclose(np.mean(tokens, axis=0) + centre, 0)


def test_the_rounding_is_enough_where_scores_are_too_weak_to_have_any(subtests):
    for skip, strength in itertools.product((False, True), (1e-4, 1e-3, 1e-2, 1.0)):
        with subtests.test(f"{skip}, {strength}"):
            for diameter in np.linspace(0.5, 2.5, 5):
                setting = PAIR.at(layers=1, diameter=float(diameter), strength=strength, skip=skip)
                drawn = np.array([PAIR.draw(jax.random.key(0), setting)])
                assert PAIR.bound_at(setting).interval(drawn, 0.0).contains(PAIR.predicted_at(setting))
