"""Heads: each is attention by itself, reshapes undo each other, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from attnlab_theory.attention import (
    attention,
    averaged_heads,
    causal_mask,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from tests.strategies import arrays, masks, scales
from tests.tolerances import attention_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
H, T, S, D, V = 2, 3, 5, 4, 2
PEAK = 2.0
Q = jnp.linspace(-1, 1, H * T * D, dtype=FLOAT).reshape(H, T, D)
K = jnp.cos(jnp.arange(H * S * D, dtype=FLOAT)).reshape(H, S, D)
VALUES = jnp.sin(jnp.arange(H * S * V, dtype=FLOAT)).reshape(H, S, V)
MASK = jnp.array([[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
NAN = float("nan")


def test_a_head_is_a_block_of_columns():
    x = jnp.arange(12.0).reshape(2, 6)
    assert split_heads(x, 3).tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]


@given(arrays(3, 6))
def test_merging_undoes_splitting(x):
    for h in (1, 2, 3, 6):
        heads = split_heads(x, h)
        assert heads.shape == (h, 3, 6 // h)
        assert np.array_equal(merge_heads(heads), x)


@pytest.mark.slow("plain heads beside blocked ones stay inside")
@given(arrays(H, T, D, peak=PEAK), arrays(H, S, D, peak=PEAK), arrays(H, S, V, peak=PEAK), masks(T, S), scales)
def test_every_head_is_attention_by_itself(q, k, v, mask, scale):
    """Hypothesis tries many cases, and each head of a case is attended to alone."""
    together = multi_head_attention(q, k, v, mask, scale=scale)
    atol = attention_atol(D, S, scale * D * PEAK**2, PEAK, FLOAT)
    for i in range(H):
        assert np.abs(together[i] - attention(q[i], k[i], v[i], mask, scale=scale)).max() <= atol


@given(arrays(H, D, peak=PEAK), arrays(S, D, peak=PEAK), arrays(S, V, peak=PEAK), scales)
def test_averaged_heads_are_the_mean_of_single_ones(q, k, v, scale):
    """Hypothesis tries many cases, and each head of a case is attended to alone."""
    singles = [attention(q[i : i + 1], k, v, scale=scale)[0] for i in range(H)]
    atol = attention_atol(D, S, scale * D * PEAK**2, PEAK, FLOAT)
    assert np.abs(averaged_heads(q, k, v, scale=scale) - (singles[0] + singles[1]) / 2).max() <= atol


def test_one_averaged_head_is_plain_attention():
    alone = attention(Q[0, :1], K[0], VALUES[0], scale=0.5)[0]
    assert np.array_equal(averaged_heads(Q[0, :1], K[0], VALUES[0], scale=0.5), alone)


def test_heads_share_a_causal_mask():
    """Compiles attention of several heads."""
    x = jnp.concatenate([Q, Q], axis=1)
    out = multi_head_attention(x, x, x, causal_mask(2 * T), scale=0.5)
    assert np.array_equal(out[:, 0], x[:, 0])


@pytest.mark.parametrize("wrong", [0.0, -1.0, NAN])
def test_traced_bad_scale_gives_nan(wrong):
    assert np.isnan(jax.jit(lambda scale: multi_head_attention(Q, K, VALUES, scale=scale))(wrong)).all()
    assert np.isnan(jax.jit(lambda scale: averaged_heads(Q[0], K[0], VALUES[0], scale=scale))(wrong)).all()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(("h", "width"), [(0, 6), (-1, 6), (4, 6)])
def test_unequal_heads_are_refused(h, width):
    with pytest.raises(ValueError, match=f"a width of {width} cannot be cut into {h} heads"):
        split_heads(jnp.ones((2, width)), h)


@pytest.mark.usefixtures("unchecked_shapes")
def test_reshapes_refuse_other_ranks():
    with pytest.raises(ValueError, match="x must have 2 axes"):
        split_heads(Q, 2)
    with pytest.raises(ValueError, match="x must have 3 axes"):
        merge_heads(Q[0])


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": Q[0]}, "q must have 3 axes"),
        ({"q": Q[:1]}, "heads must agree: q has 1, k has 2, v has 2"),
        ({"v": VALUES[:1]}, "heads must agree: q has 2, k has 2, v has 1"),
        ({"q": Q[:, :, :3]}, "key width must agree: q has 3, k has 4"),
        ({"v": VALUES[:, :4]}, "source positions must agree: k has 5, v has 4"),
        ({"scale": 0.0}, "scale must be positive, not 0.0"),
        ({"q": Q.at[1, 0, 2].set(NAN)}, r"q must be finite, but holds nan at index \(1, 0, 2\)"),
        ({"k": K.at[1, 0, 2].set(NAN)}, "k must be finite"),
        ({"v": VALUES.at[1, 0, 1].set(NAN)}, "v must be finite"),
        ({"mask": MASK[:2]}, r"mask must have shape \(3, 5\)"),
        ({"mask": MASK.at[2].set(False)}, "mask hides every key from query 2"),
    ],
)
def test_bad_input_to_heads_is_refused(changed, message):
    given_ = {"q": Q, "k": K, "v": VALUES, "mask": MASK, "scale": 0.5} | changed
    with pytest.raises(ValueError, match=message):
        multi_head_attention(**given_)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": Q[0, 0]}, "q must have 2 axes"),
        ({"q": Q[0, :0]}, r"at least one head, but q has shape \(0, 4\)"),
        ({"scale": -2.0}, "scale must be positive, not -2.0"),
        ({"v": VALUES[0].at[0, 0].set(NAN)}, "v must be finite"),
    ],
)
def test_bad_input_to_a_mean_of_heads_is_refused(changed, message):
    given_ = {"q": Q[0], "k": K[0], "v": VALUES[0], "scale": 0.5} | changed
    with pytest.raises(ValueError, match=message):
        averaged_heads(**given_)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_number_of_heads_that_is_not_whole_is_refused():
    with pytest.raises(ValueError, match=r"heads must be a whole number, not 2\.0"):
        split_heads(jnp.ones((2, 4)), 2.0)
