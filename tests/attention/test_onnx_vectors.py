"""The fourth output of ONNX's Attention, which its door does not ask: scores, or weights, by its mode.

What Attention itself gives, and all other vectors, are asked in tests/conform/vectors/test_onnx_ours.py. Its second
and third output are the keys and values with the past in front, and no operator's.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention_scores, attention_weights
from attnlab_theory.identities.rounding import epsilon, score_rounding, weight_rounding

pytest.importorskip(
    "onnx", reason="onnx is not installed: 18 outputs of its vectors were not tried; pip install '.[conformance]'"
)

from attnlab_theory.conform.vectors.questions import question
from attnlab_theory.conform.vectors.reading import vectors

OUTPUT = "qk_matmul_output"
VECTORS = [vector for vector in vectors() if OUTPUT in vector.outputs]


def ours(vector, q, k, visible, bias, scale, softcap):
    """What the mode asks of one head, and how far it may be from theirs: both err by their rounding."""
    mode = vector.attributes.get("qk_matmul_output_mode", 0)
    sizes = (softcap or 0.0) + (0.0 if bias is None else float(np.abs(bias).max()))
    error = score_rounding(q, k, scale) + 4 * epsilon(q) * sizes
    options = {"scale": scale, "softcap": softcap, "bias": bias, "blind": "zeros"}
    match mode:
        case 0 | 1:
            return attention_scores(q, k, scale=scale, softcap=softcap if mode else None), 3 * error
        case 2:
            return attention_scores(q, k, visible, **options), 3 * error
        case _:
            return attention_weights(q, k, visible, **options), 3 * weight_rounding(error, len(k), epsilon(q))


def test_there_are_as_many_as_were_looked_at():
    """Every mode is among them."""
    assert len(VECTORS) == 18
    assert {vector.attributes.get("qk_matmul_output_mode", 0) for vector in VECTORS} == {0, 1, 2, 3}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_our_scores_and_weights_are_the_fourth_output(vector):
    asks = question(vector)
    assert asks is not None
    scale = asks.q.shape[-1] ** -0.5 if asks.scale is None else asks.scale
    each = asks.q.shape[1] // asks.k.shape[1]
    for b, h in np.ndindex(*asks.q.shape[:2]):
        q, k, visible = (jnp.asarray(x) for x in (asks.q[b, h], asks.k[b, h // each], asks.visible[b, h]))
        bias = None if asks.bias is None else jnp.asarray(asks.bias[b, h])
        found, atol = ours(vector, q, k, visible, bias, scale, asks.softcap)
        # Derived, and no bound that anything would pass: numbers are of the size of one.
        assert atol < (1e-4 if q.dtype.itemsize >= 4 else 0.1)
        wanted = vector.outputs[OUTPUT][b, h]
        assert found.dtype == wanted.dtype
        found, wanted = (np.asarray(x).astype(np.float64) for x in (found, wanted))
        hidden = np.isneginf(wanted)
        assert np.array_equal(hidden, np.isneginf(found))
        assert np.abs(np.where(hidden, 0, found) - np.where(hidden, 0, wanted)).max() <= atol
