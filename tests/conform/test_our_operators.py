"""Our own operators through the door that strangers use: each is judged as what it promises."""
# ruff: noqa: PT028 (what stands below a decorator is a target)

import functools

import jax
import pytest

from attnlab_theory.attention import (
    attention,
    attention_weights,
    blocked_attention,
    causal_mask,
    grouped_query_attention,
    multi_head_attention,
    sliding_window_attention,
    window_mask,
)
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.door import conforms
from tests.conform.judging import suite as suite_of

ours = functools.partial(conforms, framework="jax")
FEW = ("visibility", "plain", "large scores", "more keys", "block edges", "float16")
"""What is tried of a second way to say the same: each shape is compiled."""

ONE_HEAD = ("float64", "masks by head", "elements apart", "empty batch")
"""What a function of one head has not. In float64 the suite asks no jax target."""


def usual(q, scale=None):
    return q.shape[-1] ** -0.5 if scale is None else scale


@pytest.mark.slow("two of 42 members stay inside", but=2)
@ours("softmax", layout="td", exclude=ONE_HEAD)
@jax.jit
def test_one_head_and_its_weights(q, k, v, mask=None, scale=None):
    """Every shape that the suite tries is compiled."""
    rows = attention_weights(q, k, mask, scale=usual(q, scale), blind="zeros")
    return attention(q, k, v, mask, scale=usual(q, scale), blind="zeros"), rows


def causal(q, k, v, mask, blind):
    past = causal_mask(len(q), len(k))
    return attention(q, k, v, past if mask is None else past & mask, scale=usual(q), blind=blind)


@pytest.mark.slow("one of 38 members stays inside", but=1)
@ours("causal", layout="td", exclude=(*ONE_HEAD, "scale", "float16", "bfloat16", "more queries"))
@jax.jit
def test_a_causal_head(q, k, v, mask=None):
    """Every shape that the suite tries is compiled."""
    return causal(q, k, v, mask, "zeros")


@pytest.mark.slow("two identities of one compiled head stay inside")
@ours("softmax", layout="td", include=(*FEW, "hidden NaN"))
def test_a_head_that_is_not_compiled(q, k, v, mask=None):
    """Every operation is called by itself, and jax compiles it for every shape."""
    return attention(q, k, v, mask, scale=usual(q), blind="nan")


@pytest.mark.slow("one of 40 members stays inside", but=1)
@ours("multi-head", layout="htd", exclude=("float64", "scale", "empty batch", "odd widths", "one token", "pairs"))
@jax.jit
def test_several_heads(q, k, v, mask=None):
    """Compiles the operator at each shape that the suite tries."""
    return multi_head_attention(q, k, v, mask, scale=usual(q), blind="zeros")


@pytest.mark.slow("groups that do not hear of hidden keys stay inside")
@ours("grouped-query", layout="bhtd", include=(*FEW, "groupings", "masks by head", "elements apart", "empty batch"))
@jax.jit
def test_neighbouring_heads_share_keys_in_a_batch(q, k, v, mask=None):
    """Every shape that the suite tries is compiled."""
    heads = functools.partial(grouped_query_attention, scale=usual(q))
    masks = mask is not None and mask.ndim == 4
    return jax.vmap(heads, in_axes=(0, 0, 0, 0 if masks else None))(q, k, v, mask)


@pytest.mark.slow("one identity of several heads stays inside")
@ours("grouped-query", layout="htd", include=(*FEW, "groupings"), interleaved=True)
@jax.jit
def test_heads_share_keys_in_turn(q, k, v):
    """Every shape that the suite tries is compiled."""
    return grouped_query_attention(q, k, v, scale=usual(q), order="strided")


@pytest.mark.slow("one identity of a causal mask stays inside")
@ours("sliding-window", layout="td", include=(*FEW, "feature", "hidden keys", "padding", "pairs"))
@functools.partial(jax.jit, static_argnames="window")
def test_a_window_that_is_a_mask(q, k, v, window, mask=None):
    """Every shape that the suite tries is compiled."""
    near = window_mask(len(q), len(k), before=window - 1, offset=len(k) - len(q))
    return attention(q, k, v, near if mask is None else near & mask, scale=usual(q), blind="zeros")


@pytest.mark.slow("a window to either side, in a language model, stays inside")
@ours("sliding-window", layout="td", include=(*FEW, "feature", "hidden keys"), fixed_window=3)
@jax.jit
def test_a_causal_window_of_three(q, k, v):
    """Every shape that the suite tries is compiled."""
    return sliding_window_attention(q, k, v, scale=usual(q), window=3, causal=True, offset=len(k) - len(q))


@pytest.mark.slow("a window to either side, in a language model, stays inside")
@ours("sliding-window", layout="td", include=(*FEW, "hidden keys"), fixed_window=1)
@jax.jit
def test_a_window_of_one_to_either_side(q, k, v):
    """Every shape that the suite tries is compiled."""
    return sliding_window_attention(q, k, v, scale=usual(q), window=3, offset=len(k) - len(q))


@pytest.mark.slow("softcap and bias by their definition stay inside")
@ours("softcap", layout="td", include=(*FEW, "feature", "masks", "padding", "pairs"))
@jax.jit
def test_capped_scores(q, k, v, softcap, mask=None):
    """Every shape that the suite tries is compiled."""
    return attention(q, k, v, mask, scale=usual(q), softcap=softcap, blind="zeros")


@pytest.mark.slow("softcap and bias by their definition stay inside")
@ours("bias", layout="htd", include=(*FEW, "large biases", "masks", "masks by head", "pairs"))
@jax.jit
def test_a_bias(q, k, v, bias, mask=None):
    """Every shape that the suite tries is compiled."""
    return multi_head_attention(q, k, v, mask, scale=usual(q), bias=bias, blind="zeros")


@pytest.mark.slow("blocked heads beside plain ones stay inside")
@ours("softmax", layout="td", include=(*FEW, "offset values", "dominant key", "more queries"))
@jax.jit
def test_blocks_of_four(q, k, v, scale=None):
    """Every shape that the suite tries is compiled."""
    return blocked_attention(q, k, v, scale=usual(q, scale), block=4)


@pytest.mark.slow("causal blocked heads beside plain ones stay inside")
@ours("causal", layout="td", include=(*set(FEW) - {"more keys"}, "hidden keys"), alignment="square")
@jax.jit
def test_causal_blocks_of_sixteen(q, k, v):
    """Every shape that the suite tries is compiled."""
    return blocked_attention(q, k, v, scale=usual(q), block=16, causal=True)


def row_of(target, kind, identity):
    row = suite_of(Direct(target), kind, {"framework": "jax", "layout": "td"}).row(identity)
    assert row is not None
    return row


@pytest.mark.slow("rows of softmax that see nothing stay inside")
@pytest.mark.parametrize(
    ("blind", "verdict", "said"),
    [
        ("zeros", "convention", "zeros"),
        ("nan", "convention", "NaN"),
        ("mean", "fails", "it reads what comes after it"),
    ],
)
def test_a_causal_row_that_sees_nothing_is_what_was_asked_for(blind, verdict, said):
    """The docstring of `attention_weights` warns of the mean, and the suite sees why."""
    row = row_of(lambda q, k, v, mask=None: causal(q, k, v, mask, blind), "causal", "blind rows")
    assert (row.verdict, said in row.line) == (verdict, True)


@pytest.mark.slow("gradients that do not hear of hidden keys stay inside")
def test_what_is_hidden_is_harmless_in_ours():
    row = row_of(lambda q, k, v, mask=None: causal(q, k, v, mask, "zeros"), "causal", "hidden NaN")
    assert row.line == "harmless"
