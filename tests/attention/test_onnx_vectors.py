"""ONNX's vectors, run against our operators: all agree, or stand in a list with the reason."""

import collections

import jax
import numpy as np
import pytest

pytest.importorskip(
    "onnx", reason="onnx is not installed: 126 vectors of ONNX were not tried; pip install '.[conformance]'"
)

from attnlab_theory.conform.vectors.reading import vectors
from tests.attention.onnx_vectors import ADAPTERS

VECTORS = vectors()

UNSAYABLE = {
    "linear_attention_": "not normalised, and most of them with gates or the delta rule; ours is a ratio",
    "flexattention_prob_mod": "weights are changed after the softmax: no operator of ours does that",
}
"""What none of our operators says, by the beginning of the name."""


def reason(vector):
    return next((why for name, why in UNSAYABLE.items() if vector.name.startswith(name)), None)


SAYABLE = [vector for vector in VECTORS if reason(vector) is None]


def test_there_are_as_many_vectors_as_were_looked_at():
    """More of them, or fewer, belong to another version of onnx: look at its new cases, then count again."""
    found = collections.Counter(vector.operator for vector in VECTORS)
    assert found == {"Attention": 93, "RotaryEmbedding": 8, "LinearAttention": 14, "FlexAttention": 11}
    unsaid = collections.Counter(vector.operator for vector in VECTORS if reason(vector))
    assert unsaid == {"LinearAttention": 14, "FlexAttention": 1}


@pytest.mark.parametrize("vector", SAYABLE, ids=lambda vector: vector.name)
def test_our_operators_give_what_the_vector_says(vector):
    with jax.enable_x64(any(x.dtype == np.float64 for x in vector.inputs.values())):
        answers = ADAPTERS[vector.operator](vector)
    for name, wanted in vector.outputs.items():
        found, atol = answers[name]
        # Derived, and no bound that anything would pass: numbers are of the size of one.
        assert atol < (1e-4 if np.dtype(wanted.dtype).itemsize >= 4 else 0.1)
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        found, wanted = found.astype(np.float64), np.asarray(wanted).astype(np.float64)
        hidden = np.isneginf(wanted)
        assert np.array_equal(hidden, np.isneginf(found))
        assert np.abs(np.where(hidden, 0, found) - np.where(hidden, 0, wanted)).max() <= atol
