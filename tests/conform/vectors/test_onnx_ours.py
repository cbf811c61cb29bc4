"""ONNX's vectors run against our operators by the suite's own door: all agree, or stand in a list with a reason."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import grouped_query_attention, linear_attention, rotary
from attnlab_theory.conform.callers import Direct

pytest.importorskip(
    "onnx", reason="onnx is not installed: 126 vectors of ONNX were not tried; pip install '.[conformance]'"
)

from attnlab_theory.conform.vectors.reading import vectors
from attnlab_theory.conform.vectors.suite import OnnxSuite

DELTA = "the delta rule takes away what a key finds in the state; linear_attention only adds"
UNSAYABLE = {
    "flexattention_prob_mod": "weights are changed after the softmax: no operator of ours does that",
    **dict.fromkeys(("linear_attention_delta", "linear_attention_gated_delta"), DELTA),
    **dict.fromkeys(("linear_attention_decode_step", "linear_attention_prefill_with_past"), DELTA),
    **dict.fromkeys(("linear_attention_no_past_explicit_zeros", "linear_attention_explicit_scale"), DELTA),
    **dict.fromkeys(("linear_attention_gated_delta_beta_scalar", "linear_attention_fp16"), DELTA),
    **dict.fromkeys(("linear_attention_gated_delta_gqa", "linear_attention_gated_delta_mqa"), DELTA),
}
"""What none of our operators says, and why."""


@jax.jit
def attention(q, k, v, mask=None, bias=None, scale=None, softcap=None):
    """A batch of heads that share keys; a mask of all heads, or one for each."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    each = None if mask is None or mask.ndim == 2 else 0
    heads = functools.partial(grouped_query_attention, scale=scale, softcap=softcap, bias=bias, blind="zeros")
    return jax.vmap(heads, in_axes=(0, 0, 0, each))(q, k, v, mask)


def rotation(x, cos, sin, interleaved=False):
    """Tables of ONNX are random numbers: each pair turns by an angle and is stretched by a radius."""
    angles, radii = np.arctan2(sin, cos), np.hypot(cos, sin)
    wide = np.repeat(radii, 2, -1) if interleaved else np.tile(radii, 2)
    stretched = np.concatenate([x[:, : wide.shape[-1]] * wide, x[:, wide.shape[-1] :]], -1)
    layout = "interleaved" if interleaved else "half"
    at = jnp.ones(1, x.dtype)
    rows = zip(stretched, angles, strict=True)
    return np.concatenate(
        [rotary(jnp.asarray(row[None]), at, layout=layout, frequencies=each) for row, each in rows]
    )


@jax.jit
def gated(q, k, v, log_decay=None):
    """One head. Decays go into the features. A first key of a known weight, which all see, undoes the ratio."""
    total = jnp.zeros_like(q) if log_decay is None else jnp.cumsum(log_decay, 0)
    rest = 100.0  # the weight: far above the sum of the others
    queries = jnp.pad(q * jnp.exp(total) * q.shape[-1] ** -0.5, ((1, 0), (0, 1)), constant_values=rest)
    keys = jnp.pad(k * jnp.exp(-total), ((1, 0), (0, 1)))
    first = jnp.zeros_like(keys).at[0, -1].set(1.0)
    values = jnp.pad(v, ((1, 0), (0, 1))).at[0, -1].set(1.0)
    out = linear_attention(queries, keys + first, values, causal=True)[1:]
    return rest * out[:, :-1] / out[:, -1:]


TARGETS = {
    "Attention": (attention, {"framework": "jax", "layout": "bhtd"}),
    "FlexAttention": (attention, {"framework": "jax", "layout": "bhtd"}),
    "RotaryEmbedding": (rotation, {"framework": "numpy", "layout": "td"}),
    "LinearAttention": (gated, {"framework": "jax", "layout": "td"}),
}


@functools.cache
def suite(operator):
    target, declared = TARGETS[operator]
    if operator == "FlexAttention":
        return suite("Attention")
    return OnnxSuite(Direct(target), "onnx", declared)


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector.name)
def test_our_operators_give_what_the_vector_says(vector):
    asks = suite(vector.operator)
    with jax.enable_x64(any(x.dtype == np.float64 for x in vector.inputs.values())):
        row = asks.row(vector.name)
    assert row is not None
    assert row.verdict == ("not judged" if vector.name in UNSAYABLE else "holds"), row.line


def test_there_are_as_many_vectors_as_were_looked_at():
    """More of them, or fewer, belong to another version of onnx: look at its new cases, then count again."""
    found = collections.Counter(vector.operator for vector in vectors())
    assert found == {"Attention": 93, "RotaryEmbedding": 8, "LinearAttention": 14, "FlexAttention": 11}
    assert {*UNSAYABLE} < {vector.name for vector in vectors()}
    assert len(UNSAYABLE) == 11
