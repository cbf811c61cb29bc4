"""Positions: what they compute, against numbers worked out elsewhere, and what they refuse.

That lengths are kept, that scores are relative and that the forms agree are identities: tests/identities.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import (
    half_layout_order,
    rotary,
    rotary_by_complex,
    rotation_matrix,
    sinusoidal,
)
from tests.strategies import arrays, positions
from tests.tolerances import rotation_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
X = jnp.arange(12, dtype=FLOAT).reshape(3, 4)
AT = jnp.array([0, 1, 5])


def turned_by_hand(x: np.ndarray, at: list[int], base: float) -> np.ndarray:
    """The definition, in numpy's float64, one pair at a time."""
    turned = np.empty_like(x)
    width = x.shape[1]
    for row, position in enumerate(at):
        for j in range(width // 2):
            angle = position * base ** (-2 * j / width)
            a, b = x[row, 2 * j], x[row, 2 * j + 1]
            turned[row, 2 * j] = a * np.cos(angle) - b * np.sin(angle)
            turned[row, 2 * j + 1] = a * np.sin(angle) + b * np.cos(angle)
    return turned


@pytest.mark.parametrize("turn", [rotary, rotary_by_complex], ids=["rotary", "by complex"])
@given(arrays(3, 6), st.lists(positions, min_size=3, max_size=3), st.sampled_from([10.0, 500.0, 10000.0]))
def test_rotary_turns_each_pair_by_its_angle(turn, x, at, base):
    expected = turned_by_hand(np.asarray(x, np.float64), at, base)
    atol = rotation_atol(4.0, max(map(abs, at)), base, FLOAT)
    assert np.max(np.abs(turn(x, jnp.array(at), base=base) - expected)) <= atol


def test_first_pair_turns_by_one_radian_per_token():
    x = jnp.array([[1.0, 0.0, 0.0, 0.0]], FLOAT)
    expected = np.array([[np.cos(1.0), np.sin(1.0), 0, 0]])
    assert np.max(np.abs(rotary(x, jnp.array([1])) - expected)) <= rotation_atol(1.0, 1.0, dtype=FLOAT)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_position_zero_changes_nothing(layout):
    assert np.array_equal(rotary(X, jnp.zeros(3), layout=layout), X)


def test_half_layout_order_takes_one_layout_to_the_other():
    order = half_layout_order(4)
    assert order.tolist() == [0, 2, 1, 3]
    assert np.array_equal(rotary(X[:, order], AT, layout="half"), rotary(X, AT)[:, order])


def test_layouts_differ_in_general():
    assert not np.array_equal(rotary(X, AT, layout="half"), rotary(X, AT))


def test_sinusoids_are_sine_then_cosine_of_each_frequency():
    waves = np.asarray(sinusoidal(AT, 4), np.float64)
    angles = np.array([0.0, 1.0, 5.0])[:, None] * np.array([1.0, 0.01])
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(3, 4)
    assert np.max(np.abs(waves - expected)) <= rotation_atol(1.0, 5.0, dtype=FLOAT)


def test_half_precision_counts_angles_in_single():
    """2049 is not a float16; its angle must still be that of 2049."""
    x = jnp.ones((1, 2), jnp.float16)
    expected = turned_by_hand(np.ones((1, 2)), [2049], 10000.0)
    got = rotary(x, jnp.array([2049]))
    assert got.dtype == jnp.float16
    atol = rotation_atol(1.0, 2049, dtype=np.float32) + rotation_atol(1.0, 0.0, dtype=np.float16)
    assert np.max(np.abs(np.asarray(got, np.float64) - expected)) <= atol


@pytest.mark.parametrize(("position", "base"), [(2049, 10000.0), (-301, 500_000.0)])
def test_a_matrix_in_half_precision_is_that_of_rotary(position, base):
    """2049 is not a float16, and half a million is none either."""
    matrix = rotation_matrix(position, 4, base=base, dtype=jnp.float16)
    turned = rotary(jnp.eye(4, dtype=jnp.float16), jnp.full(4, position), base=base)
    assert matrix.dtype == jnp.float16
    assert np.array_equal(matrix, turned.T)


@pytest.mark.parametrize("base", [-1.0, 0.0, np.inf, np.nan])
def test_traced_base_that_is_not_positive_and_finite_gives_nan(base):
    """Its zeroth power is one, whatever it is, and the others are zero if it is infinite."""
    assert np.isnan(jax.jit(lambda base: rotary(X, AT, base=base))(base)[1]).all()
    assert np.isnan(jax.jit(lambda base: sinusoidal(AT, 4, base=base))(base)[1]).all()
    # The zeros outside of the blocks are those of any base.
    assert np.isnan(np.diag(jax.jit(lambda base: rotation_matrix(1, 4, base=base))(base))).all()


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_rotations_are_refused(subtests):
    for turn in [rotary, rotary_by_complex]:
        for x, at, base, message in [
            (X[:, :3], AT, 1e4, "even and positive, not 3"),
            (X[:, :0], AT, 1e4, "even and positive, not 0"),
            (X, AT[:2], 1e4, "positions must agree: x has 3, positions has 2"),
            (X, AT, 0.0, "base must be positive, not 0.0"),
            (X, AT, float("nan"), "base must be positive, not nan"),
            (X.at[1, 2].set(jnp.nan), AT, 1e4, r"x must be finite, but holds nan at index \(1, 2\)"),
            (X, jnp.array([0.0, jnp.inf, 1.0]), 1e4, "positions must be finite, but holds inf"),
            (X.astype(int), AT, 1e4, "x must hold floating-point numbers, not int"),
            (X, AT.astype(complex), 1e4, "positions must hold real numbers, not complex"),
            (X, AT > 0, 1e4, "positions must hold real numbers, not bool"),
            (X, AT, float("inf"), "base must be finite, but holds inf"),
            (X, AT, True, "base must be one real number, not True"),
        ]:
            with subtests.test(message, turn=turn), pytest.raises(ValueError, match=message):
                turn(x, at, base=base)


@pytest.mark.parametrize(("base", "named"), [(1e-50, "1e-50"), (1e50, r"1e\+50")])
@pytest.mark.parametrize(
    "turn",
    [
        lambda base: rotary(X.astype(jnp.float32), AT, base=base),
        lambda base: rotary(X.astype(jnp.float16), AT, base=base),
        lambda base: rotary_by_complex(X.astype(jnp.float32), AT, base=base),
        lambda base: rotation_matrix(1, 4, base=base, dtype=jnp.float32),
        lambda base: sinusoidal(AT.astype(jnp.float32), 4, base=base),
    ],
    ids=["rotary", "half precision", "by complex", "matrix", "sinusoids"],
)
def test_a_base_that_the_floating_type_cannot_hold_is_refused(turn, base, named):
    with pytest.raises(ValueError, match=rf"base must lie between 1.18e-38 and 3.4e\+38 in float32, not {named}"):
        turn(base)


@pytest.mark.usefixtures("unchecked_shapes")
def test_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="layout must be one of interleaved, half, not 'split'"):
        rotary(X, AT, layout="split")


@pytest.mark.parametrize(("width", "base"), [(3, 1e4), (0, 1e4), (4, -1.0)])
def test_bad_sinusoids_and_matrices_are_refused(width, base):
    message = "base must be positive" if width == 4 else f"even and positive, not {width}"
    with pytest.raises(ValueError, match=message):
        sinusoidal(AT, width, base=base)
    with pytest.raises(ValueError, match=message):
        rotation_matrix(1, width, base=base)
    if width != 4:
        with pytest.raises(ValueError, match=message):
            half_layout_order(width)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("width", [4.0, True, None])
def test_a_width_that_is_not_whole_is_refused(width):
    for build in (
        lambda: sinusoidal(AT, width),
        lambda: rotation_matrix(1, width),
        lambda: half_layout_order(width),
    ):
        with pytest.raises(ValueError, match=f"width must be a whole number, not {width}"):
            build()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("at", [AT.astype(complex), AT > 0], ids=["complex", "boolean"])
def test_sinusoids_of_positions_that_are_not_real_are_refused(at):
    with pytest.raises(ValueError, match="positions must hold real numbers"):
        sinusoidal(at, 4)


def test_positions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="positions must be finite"):
        sinusoidal(jnp.array([jnp.nan]), 4)
    with pytest.raises(ValueError, match="base must be finite"):
        sinusoidal(AT, 4, base=float("inf"))
    with pytest.raises(ValueError, match="position must be finite"):
        rotation_matrix(float("inf"), 4)


@pytest.mark.usefixtures("unchecked_shapes")
def test_arrays_of_numpy_are_taken_without_a_warning():
    x, at = np.ones((3, 4)), np.arange(3.0)
    for turn in (rotary, rotary_by_complex):
        np.testing.assert_array_equal(turn(x, at), turn(jnp.asarray(x, FLOAT), jnp.asarray(at, FLOAT)))
    np.testing.assert_array_equal(sinusoidal(at, 4), sinusoidal(jnp.asarray(at, FLOAT), 4))
