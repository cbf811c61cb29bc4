"""Wendel's theorem, against hulls that are looked for, and against all patterns of signs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from attnlab_theory.claims.sinks.silence import VALUES_PER_DIMENSION, is_surrounded
from attnlab_theory.theory.sinks.silence import chance_of_silence


def has_positive_functional(values: np.ndarray) -> bool:
    """Whether some u has a positive product with all values: tried on a fine grid of directions of the plane."""
    angles = np.linspace(0, 2 * np.pi, 20_001)
    return bool(np.any(np.all(np.stack([np.cos(angles), np.sin(angles)], axis=1) @ values.T > 0, axis=1)))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_of_all_patterns_of_signs_as_many_have_a_positive_functional(n):
    values = np.random.default_rng(n).standard_normal((n, 2))
    signs = np.array(list(itertools.product([1, -1], repeat=n)))
    outside = sum(has_positive_functional(s[:, None] * values) for s in signs)
    assert chance_of_silence(n, 2) == 1 - outside / len(signs)


def test_on_a_line_only_values_of_one_sign_are_never_silent():
    assert [chance_of_silence(n, 1) for n in (1, 2, 3)] == [0, 0.5, 0.75]


def test_as_many_values_as_dimensions_are_never_silent_twice_as_many_half_of_the_time():
    for d in (1, 2, 3, 8):
        assert chance_of_silence(d, d) == 0
        assert chance_of_silence(2 * d, d) == 0.5
    assert chance_of_silence(12, 8) == pytest.approx(0.1133, abs=1e-4)
    assert chance_of_silence(24, 8) == pytest.approx(0.9534, abs=1e-4)


SURROUNDED = jax.jit(jax.vmap(is_surrounded))


@settings(max_examples=20)
@given(d=st.sampled_from([2, 8]), seed=st.integers(0, 2**31), data=st.data())
def test_the_draw_says_what_non_negative_least_squares_say(d, seed, data):
    """With copies of the first value in place of others, too. What float32 cannot tell is left out."""
    n = data.draw(st.integers(1, VALUES_PER_DIMENSION * d))
    values = np.random.default_rng(seed).standard_normal((50, VALUES_PER_DIMENSION * d, d)).astype(np.float32)
    values[:, n:] = values[:, :1]
    ones = np.append(np.zeros(d), 1)
    off = np.array([nnls(np.vstack([each.T, np.ones(len(each))]), ones)[1] for each in values.astype(float)])
    clear = (off < 1e-6) | (off > 1e-2)
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(np.asarray(SURROUNDED(jnp.asarray(values)))[clear], (off < 1e-6)[clear])
