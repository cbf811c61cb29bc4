"""ONNX Runtime, on the processor: one operator in a graph of its own."""

import functools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

KINDS = {"FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "BOOL": "bool", "INT32": "int32"}
TYPES = {kind: getattr(TensorProto, name) for name, kind in KINDS.items()}


@functools.cache
def _session(operator, domain, version, inputs, attributes):
    given = [helper.make_tensor_value_info(n, TYPES[kind], [None] * rank) for n, kind, rank in inputs if n]
    rank = 4 if domain == "" else 3
    out = helper.make_tensor_value_info("Y", TYPES[inputs[0][1]], [None] * rank)
    node = helper.make_node(operator, [n for n, _, _ in inputs], ["Y"], domain=domain, **dict(attributes))
    opsets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", given, [out]), opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _run(operator, domain, arrays, version=23, **attributes):
    inputs = tuple(("", "", 0) if x is None else (n, str(x.dtype), x.ndim) for n, x in arrays)
    while not inputs[-1][0]:
        inputs = inputs[:-1]
    session = _session(operator, domain, version, inputs, tuple(attributes.items()))
    return session.run(None, {n: x for n, x in arrays if x is not None})[0]


def _standard(q, k, v, mask, scale, **more):
    more |= {} if scale is None else {"scale": float(scale)}
    return _run("Attention", "", [("Q", q), ("K", k), ("V", v), ("mask", mask)], **more)


def attend(q, k, v, mask=None, scale=None):
    """Attention-23: [b h t d]; True keeps."""
    return _standard(q, k, v, mask, scale)


def causal(q, k, v, mask=None, scale=None):
    """With is_causal."""
    return _standard(q, k, v, mask, scale, is_causal=1)


def biased(q, k, v, bias, scale=None):
    """A mask of numbers is added."""
    return _standard(q, k, v, bias, scale)


def capped(q, k, v, mask=None, softcap=3.0):
    """With a soft cap."""
    return _standard(q, k, v, mask, None, softcap=float(softcap))


def windowed(q, k, v, mask=None, window=4):
    """Attention-25 with a window to the left, and nothing to the right."""
    return _standard(q, k, v, mask, None, version=25, left_window_size=int(window), right_window_size=0)


def _contrib(q, k, v, mask, bias, **more):
    (b, h, t, _), s, e = q.shape, k.shape[2], v.shape[-1]
    flat = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, x.shape[2], -1) for x in (q, k, v)]
    mask = None if mask is None else np.broadcast_to(mask, (b, t, s)).astype(np.int32)
    names = "Q", "K", "V", "no_bias", "mask", "bias"
    out = _run(
        "MultiHeadAttention",
        "com.microsoft",
        [*zip(names, (*flat, None, mask, bias), strict=True)],
        num_heads=h,
        **more,
    )
    return out.reshape(b, t, h, e).transpose(0, 2, 1, 3)


def contrib(q, k, v, mask=None):
    """com.microsoft.MultiHeadAttention, with a mask of whole numbers [b t s]."""
    return _contrib(q, k, v, mask, None)


def contrib_low(q, k, v, mask=None):
    """With a mask_filter_value of its own: by default that is -10000."""
    return _contrib(q, k, v, mask, None, mask_filter_value=-3e38)


def contrib_causal(q, k, v, mask=None):
    """With unidirectional."""
    return _contrib(q, k, v, mask, None, unidirectional=1, mask_filter_value=-3e38)


def contrib_biased(q, k, v, bias, mask=None):
    """With attention_bias [1 h t s] or [b h t s]."""
    return _contrib(q, k, v, mask, bias if bias.ndim == 4 else bias[None], mask_filter_value=-3e38)
