"""Linear biases: the published slopes, and scores that fall with distance."""

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab_theory.attention import (
    alibi_attention,
    alibi_bias,
    alibi_slopes,
    alibi_weights,
    attention_scores,
    causal_mask,
)
from tests.tolerances import attention_atol, softmax_rtol

FLOAT = jnp.zeros(()).dtype
X = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (5, 3)), FLOAT)


def test_slopes_of_eight_heads_are_the_powers_of_a_half():
    assert np.array_equal(alibi_slopes(8), 0.5 ** np.arange(1, 9))


def test_slopes_of_twelve_heads_fill_in_every_other_one_of_sixteen():
    between = [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5]
    assert np.array_equal(alibi_slopes(12), np.concatenate([0.5 ** np.arange(1, 9), between]))


@pytest.mark.parametrize("h", [1, 2, 3, 7, 16])
def test_slopes_are_distinct_and_between_zero_and_one(h):
    slopes = alibi_slopes(h)
    assert slopes.shape == (h,)
    assert len(set(slopes)) == h
    assert np.all((slopes > 0) & (slopes < 1))


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint8", "float32"])
def test_bias_is_minus_slope_times_distance(kind):
    found = alibi_bias(jnp.arange(2, 4, dtype=kind), jnp.arange(5, dtype=kind), slope=0.25)
    assert np.array_equal(found, [[-0.5, -0.25, 0.0, -0.25, -0.5], [-0.75, -0.5, -0.25, 0.0, -0.25]])


@hypothesis.given(st.data())
@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_no_distance_between_whole_positions_wraps(kind, data):
    info = np.iinfo(kind)
    ends = st.one_of(st.integers(info.min, info.max), st.sampled_from([info.min, info.max]))
    queries, keys = (np.array(data.draw(st.lists(ends, min_size=3, max_size=3)), kind) for _ in range(2))
    found = alibi_bias(jnp.asarray(queries), jnp.asarray(keys), slope=1.0)
    assert np.array_equal(found, [[np.asarray(-abs(int(q) - int(k)), FLOAT) for k in keys] for q in queries])


@pytest.mark.usefixtures("unchecked_shapes")
def test_signed_beside_unsigned_positions_are_measured_or_refused():
    signed, unsigned = jnp.asarray([-2, 1], jnp.int32), jnp.asarray([3, 2**32 - 1], jnp.uint32)
    wide = [[-5.0, -(2.0**32 + 1)], [-2.0, 2.0 - 2.0**32]]
    with jax.numpy_dtype_promotion("standard"):
        if jax.config.jax_enable_x64:
            assert np.array_equal(alibi_bias(signed, unsigned, slope=1.0), wide)
        else:
            with pytest.raises(ValueError, match="int32 cannot hold all positions of queries in int32 and of keys"):
                alibi_bias(signed, unsigned, slope=1.0)


def test_attention_is_the_softmax_of_biased_scores():
    mask = causal_mask(5)
    scores = attention_scores(X, X, mask, scale=2.0) + alibi_bias(jnp.arange(5), jnp.arange(5), slope=0.5)
    weights = alibi_weights(X, X, mask, scale=2.0, slope=0.5)
    assert np.abs(weights - jax.nn.softmax(scores)).max() <= softmax_rtol(8.0, 5, FLOAT)
    output = alibi_attention(X, X, X, mask, scale=2.0, slope=0.5)
    assert np.abs(output - weights @ X).max() <= attention_atol(3, 5, 8.0, 1.0, FLOAT)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": 0.0}, "slope must be positive, not 0.0"),
        ({"slope": float("inf")}, "slope must be finite"),
        ({"scale": -1.0}, "scale must be positive"),
        ({"mask": jnp.zeros((5, 5), bool)}, "hides every key"),
        ({"v": X[:4]}, "source positions must agree"),
    ],
)
def test_bad_input_to_alibi_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        alibi_attention(**({"q": X, "k": X, "v": X, "scale": 1.0, "slope": 0.5} | change))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("kind", [complex, bool])
def test_positions_that_are_not_real_are_refused(kind):
    at = jnp.arange(3)
    for name, queries, keys in (("queries", at.astype(kind), at), ("keys", at, at.astype(kind))):
        with pytest.raises(ValueError, match=f"{name} must hold real numbers, not {kind.__name__}"):
            alibi_bias(queries, keys, slope=0.5)


def test_no_heads_have_no_slopes():
    with pytest.raises(ValueError, match="at least one head, not 0"):
        alibi_slopes(0)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_part_of_a_head_has_no_slope():
    with pytest.raises(ValueError, match=r"heads must be a whole number, not 2\.5"):
        alibi_slopes(2.5)
