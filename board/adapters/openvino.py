"""OpenVINO, on the processor, told to compute in float32: ONNX's Attention in a graph of its own."""

import functools

import numpy as np
import openvino
from onnx import TensorProto, helper

KINDS = {"FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "BOOL": "bool"}
TYPES = {kind: getattr(TensorProto, name) for name, kind in KINDS.items()}
CORE = openvino.Core()


@functools.cache
def _compiled(inputs, attributes):
    given = [helper.make_tensor_value_info(n, TYPES[kind], shape) for n, kind, shape in inputs]
    out = helper.make_tensor_value_info("Y", TYPES[inputs[0][1]], [None] * 4)
    node = helper.make_node("Attention", [n for n, _, _ in inputs], ["Y"], **dict(attributes))
    graph = helper.make_graph([node], "g", given, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    read = CORE.read_model(model.SerializeToString())
    return CORE.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})


def _run(q, k, v, mask=None, scale=None, **more):
    more |= {} if scale is None else {"scale": float(scale)}
    arrays = {n: np.ascontiguousarray(x) for n, x in zip("QKVM", (q, k, v, mask), strict=True) if x is not None}
    inputs = tuple((n, str(x.dtype), x.shape) for n, x in arrays.items())
    return _compiled(inputs, tuple(more.items()))(arrays)[0]


def attend(q, k, v, mask=None, scale=None):
    """[b h t d]; True keeps."""
    return _run(q, k, v, mask, scale)


def causal(q, k, v, mask=None, scale=None):
    """With is_causal."""
    return _run(q, k, v, mask, scale, is_causal=1)


def biased(q, k, v, bias, scale=None):
    """A mask of numbers is added."""
    return _run(q, k, v, bias, scale)


def capped(q, k, v, mask=None, softcap=3.0):
    """With a soft cap."""
    return _run(q, k, v, mask, softcap=float(softcap))
