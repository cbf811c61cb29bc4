"""Softmax attention with a backward pass of its own, right in several styles, and with bugs planted in it."""

import numpy as np


def turned(x):
    return np.swapaxes(x, -1, -2)


def weights(q, k, mask=None, causal=False, scale=None):
    x = q @ turned(k) * q.dtype.type(scale or q.shape[-1] ** -0.5)
    keep = np.tri(*x.shape[-2:], x.shape[-1] - x.shape[-2], dtype=bool) if causal else np.ones(x.shape[-2:], bool)
    x = np.where(keep if mask is None else keep & mask, x, -np.inf).astype(q.dtype)
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def attention(q, k, v, mask=None, causal=False, scale=None):
    return weights(q, k, mask, causal, scale) @ v


def by_weights(dout, q, k, v, mask=None, causal=False, scale=None):
    w, of_weights = weights(q, k, mask, causal, scale), dout @ turned(v)
    before = w * (of_weights - (of_weights * w).sum(-1, keepdims=True)) * q.dtype.type(scale or q.shape[-1] ** -0.5)
    return before @ k, turned(before) @ q, turned(w) @ dout


def by_output(do, q, k, v, *, causal=False, scale=None, mask=None):
    """As flash-attention: the mean is that of the output, and the weights come of a log-sum-exp."""
    one = q.dtype.type(scale or q.shape[-1] ** -0.5)
    out = attention(q, k, v, mask, causal, scale)
    w, mean = weights(q, k, mask, causal, scale), (do * out).sum(-1, keepdims=True)
    before = w * (do @ turned(v) - mean)
    return one * (before @ k), one * (turned(before) @ q), turned(w) @ do


def causal_bthd(q, k, v):
    return attention(*(x.swapaxes(1, 2) for x in (q, k, v)), causal=True).swapaxes(1, 2)


def backward_bthd(grad_out, q, k, v):
    """A block of queries after the other, in the order [b t h d]."""
    g, q, k, v = (x.swapaxes(1, 2) for x in (grad_out, q, k, v))
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    late = k.shape[2] - q.shape[2]
    for i in range(0, q.shape[2], 4):
        rows, keys = slice(i, i + 4), slice(0, min(i + 4, q.shape[2]) + late)
        a, b, c = by_weights(g[:, :, rows], q[:, :, rows], k[:, :, keys], v[:, :, keys], causal=True)
        dq[:, :, rows] = a
        dk[:, :, keys] += b
        dv[:, :, keys] += c
    return tuple(x.swapaxes(1, 2) for x in (dq, dk, dv))


RIGHT = ((attention, by_weights), (attention, by_output), (causal_bthd, backward_bthd))


def buggy(bug):
    """A backward pass of `attention`, and a word for what is wrong."""

    def target(dout, q, k, v, mask=None, causal=False, scale=None):
        causal = causal and bug != "future not hidden"
        mask = None if bug == "mask forgotten" else mask
        w, of_weights = weights(q, k, mask, causal, scale), dout @ turned(v)
        mean = 0 if bug == "mean forgotten" else (of_weights * w).sum(-1, keepdims=True)
        before = w * (of_weights - mean)
        if bug == "late keys lose theirs" and k.shape[-2] > 16:
            before[..., 16:] = 0
        factor = {"scale forgotten": 1, "scale of 5 % more": 1.05 * q.shape[-1] ** -0.5}.get(
            bug, q.shape[-1] ** -0.5
        )
        factor = factor if scale is None or bug == "scale of the caller's forgotten" else scale
        before = before * q.dtype.type(factor)
        dq, dk, dv = before @ k, turned(before) @ q, turned(w) @ dout
        if bug == "sum over heads":
            dk = dk.sum(1, keepdims=True) + 0 * dk
        if bug == "dk and dv swapped":
            dk, dv = (x[..., : y.shape[-1]] for x, y in ((dv.repeat(2, -1), k), (dk, v)))
        if bug == "in half precision":
            dv = dv.astype(np.float16).astype(q.dtype)
        if bug == "writes into dout":
            dout *= 0
        return dq, dk, dv

    return target


BUGS = (
    "future not hidden", "mask forgotten", "mean forgotten", "late keys lose theirs", "scale forgotten",
    "scale of 5 % more", "scale of the caller's forgotten", "sum over heads", "dk and dv swapped",
    "in half precision", "writes into dout",
)  # fmt: skip
