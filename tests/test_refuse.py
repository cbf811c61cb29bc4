"""Boundary checks: one clear line when a value can be read, NaN when it cannot."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory import refuse
from attnlab_theory.attention import attention, attention_weights

Q, K, V = jnp.ones((2, 3)), jnp.eye(4, 3), jnp.arange(8.0).reshape(4, 2)


@pytest.mark.slow("bad scales, and good values that pass, stay inside")
def test_a_bad_value_is_named_with_what_it_is(subtests):
    for check, said in [
        (lambda: refuse.non_finite(q=jnp.asarray([[0.0, 1.0], [2.0, jnp.nan]])), r"q .* nan at index \(1, 1\)"),
        (lambda: refuse.non_finite(q=jnp.zeros(2), k=jnp.asarray([0.0, -jnp.inf])), r"k .* -inf at index \(1,\)"),
        (lambda: refuse.non_finite(scale=math.inf), "scale must be finite, but holds inf$"),
        (lambda: refuse.not_positive(scale=0.0), "scale must be positive, not 0.0"),
        (lambda: refuse.not_positive(scale=-2.0), "not -2.0"),
        (lambda: refuse.not_positive(scale=math.nan), "not nan"),
        (lambda: refuse.not_positive(beta=1.0, scale=jnp.asarray(-1.5)), "scale must be positive, not -1.5"),
        (lambda: refuse.not_one_real(a=0.0, b="x"), "b must be one real number, not 'x'"),
        (lambda: refuse.not_whole(n=2.0), "n must be a whole number, not 2.0"),
        (lambda: refuse.not_whole(n=True), "n must be a whole number, not True"),
        (lambda: refuse.not_whole(n="2"), "n must be a whole number, not '2'"),
        (lambda: refuse.negative(variance=-1e-9), "variance must not be negative, but is -1e-09"),
        (lambda: refuse.negative(variance=math.nan), "but is nan"),
        (lambda: refuse.different_axes("width", q=3, k=4), "width must agree: q has 3, k has 4"),
        (
            lambda: refuse.wrong_rank(2, q=jnp.zeros((2, 2)), k=jnp.zeros(3)),
            r"k must have 2 axes, but has shape \(3,\)",
        ),
        (lambda: refuse.not_floating(q=jnp.zeros(3, int)), "q must hold floating-point numbers, not int"),
        (lambda: refuse.not_floating(mask=jnp.zeros(3, bool)), "mask must hold floating-point numbers, not bool"),
        (lambda: refuse.not_real(at=jnp.zeros(3, jnp.complex64)), "at must hold real numbers, not complex64"),
        (lambda: refuse.not_real(at=jnp.zeros(3, bool)), "at must hold real numbers, not bool"),
    ]:
        with subtests.test(said), pytest.raises(ValueError, match=said):
            check()


@pytest.mark.parametrize(
    "check",
    [
        lambda: refuse.non_finite(q=Q, number=1.0, integers=np.arange(3)),
        lambda: refuse.not_positive(scale=1e-30, beta=jnp.asarray(2.0)),
        lambda: refuse.not_whole(n=0, route=np.int32(-2), position=jnp.asarray(3)),
        lambda: refuse.negative(variance=0.0),
        lambda: refuse.different_axes("width", q=3, k=3),
        lambda: refuse.wrong_rank(2, q=Q, k=np.zeros((4, 3))),
        lambda: refuse.not_real(at=jnp.arange(3), k=np.zeros(3), number=1.0, half=jnp.zeros(2, jnp.bfloat16)),
        lambda: refuse.not_floating(q=Q, k=np.zeros(3), number=1.0, half=jnp.zeros(2, jnp.bfloat16)),
    ],
)
def test_good_values_pass(check):
    assert check() is None


@pytest.mark.parametrize("value", [1.0, np.float64(2.0), np.zeros(2), jnp.zeros(2)], ids=lambda v: type(v).__name__)
def test_what_can_be_read_now_is_concrete(value):
    assert refuse.is_concrete(value)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad], ids=lambda t: t.__name__)
def test_inside_a_transformation_nothing_is_concrete_and_nothing_raises(transform):
    seen = []

    def function(x):
        seen.append(refuse.is_concrete(x))
        refuse.non_finite(x=x)
        refuse.not_positive(x=x)
        refuse.negative(x=x)
        return x * x

    bad = jnp.asarray(-jnp.inf)
    transform(function)(bad[None] if transform is jax.vmap else bad)
    assert seen == [False]


BAD_SCALES = [0.0, -1.0, math.nan, math.inf, -math.inf]


@pytest.mark.slow("three of five members stay inside", but=3)
@pytest.mark.parametrize("scale", BAD_SCALES)
def test_a_bad_scale_raises_when_it_can_be_read_and_is_nan_when_not(scale):
    with pytest.raises(ValueError, match="scale"):
        attention(Q, K, V, scale=scale)
    compiled = jax.jit(lambda s: attention(Q, K, V, scale=s))(jnp.asarray(scale))
    assert bool(jnp.all(jnp.isnan(compiled)))
    mapped = jax.vmap(lambda s: attention(Q, K, V, scale=s))(jnp.asarray([scale, 1.0]))
    assert bool(jnp.all(jnp.isnan(mapped[0])))
    assert bool(jnp.all(jnp.isfinite(mapped[1])))


@pytest.mark.parametrize("scale", BAD_SCALES)
def test_nan_unless_positive_never_lets_a_traced_bad_number_through(scale):
    assert bool(jnp.isnan(jax.jit(refuse.nan_unless_positive)(jnp.asarray(scale))))
    assert jax.jit(refuse.nan_unless_positive)(jnp.asarray(0.5)) == 0.5


@pytest.mark.slow("the outputs of such a row, refused or NaN, stay inside")
def test_a_row_that_sees_nothing_raises_when_it_can_be_read_and_is_nan_when_not():
    mask = jnp.asarray([[True, False, True, False], [False] * 4])
    with pytest.raises(ValueError, match="hides every key from query 1"):
        attention_weights(Q, K, mask, scale=1.0)
    weights = jax.jit(lambda m: attention_weights(Q, K, m, scale=1.0))(mask)
    assert bool(jnp.all(jnp.isnan(weights[1])))
    # The rows that do see something are what they are without their blind neighbour.
    np.testing.assert_array_equal(
        weights[0], jax.jit(lambda m: attention_weights(Q, K, m, scale=1.0))(mask.at[1].set(True))[0]
    )
