"""Numbers rounded to a type or to a grid."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from attnlab_theory.attention.precision import quantise_absmax, rounded, to_nearest

X = np.concatenate([np.linspace(-3, 3, 61), [0.0, 1e-3, 257.0, 448.0, 2.0**-10]]).astype(np.float32)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_numbers_are_rounded_as_a_cast_rounds_them_compiled_or_not(name):
    expected = X.astype(getattr(ml_dtypes, name, name)).astype(np.float32)
    assert np.array_equal(rounded(jnp.asarray(X), name), expected)
    assert np.array_equal(jax.jit(lambda x: rounded(x, name))(X), expected)


def test_rows_are_whole_multiples_of_their_largest_entry_over_the_levels():
    x = jnp.asarray(X[:60].reshape(6, 10))
    found = np.asarray(quantise_absmax(x, 7), float)
    step = np.max(np.abs(np.asarray(x, float)), axis=1, keepdims=True) / 7
    assert found / step == pytest.approx(np.round(found / step), abs=1e-5)
    assert np.max(np.abs(found - np.asarray(x, float)) / step) <= 0.5 + 1e-5


def test_each_number_goes_to_the_nearest_of_a_grid():
    grid = (-2.0, -0.25, 0.5, 3.0)
    found = np.asarray(to_nearest(jnp.asarray(X[:61]), grid))
    best = np.min(np.abs(X[:61, None] - np.array(grid)), axis=1)
    assert np.abs(found - X[:61]) == pytest.approx(best)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("called", "message"),
    [
        (lambda: rounded(jnp.asarray(X), jnp.int8), "kind must be a floating type, not int8"),
        (lambda: rounded(jnp.asarray(X, jnp.bfloat16), jnp.float16), "float16 holds more digits than bfloat16"),
        (lambda: rounded(jnp.arange(3), jnp.bfloat16), "x must hold floating-point numbers"),
        (lambda: quantise_absmax(jnp.zeros((2, 2)), 0), "levels"),
        (lambda: to_nearest(jnp.zeros(2), (1.0, 0.0)), "a grid must increase"),
    ],
)
def test_what_is_no_type_or_grid_is_refused_in_one_line(called, message):
    with pytest.raises(ValueError, match=message):
        called()
