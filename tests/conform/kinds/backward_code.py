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


def scores(q, k, causal, window, softcap):
    """Scores of shared keys, their slope by the cap, and what is seen."""
    x = q @ turned(k.repeat(q.shape[1] // k.shape[1], 1)) * q.dtype.type(q.shape[-1] ** -0.5)
    back = np.arange(x.shape[-2])[:, None] + x.shape[-1] - x.shape[-2] - np.arange(x.shape[-1])
    seen = (back >= 0) if causal or window is not None else back < x.shape[-1]
    seen = seen if window is None else seen & (back < window)
    if softcap is None:
        return x, np.ones_like(x), seen
    x = q.dtype.type(softcap) * np.tanh(x / q.dtype.type(softcap))
    return x, 1 - (x / q.dtype.type(softcap)) ** 2, seen


def weighed(x, seen, sinks):
    top = np.where(seen, x, -np.inf).max(-1, keepdims=True)
    more = 0 if sinks is None else np.exp(sinks[:, None, None].astype(x.dtype) - top)
    raised = np.where(seen, np.exp(x - top), 0).astype(x.dtype)
    return raised / (raised.sum(-1, keepdims=True) + more)


def featured(q, k, v, causal=False, window=None, softcap=None, sinks=None):
    x, _, seen = scores(q, k, causal, window, softcap)
    return weighed(x, seen, sinks) @ v.repeat(q.shape[1] // v.shape[1], 1)


def featured_backward(bug):
    """Its backward pass, and a word for what is wrong."""

    def target(dout, q, k, v, causal=False, window=None, softcap=None, sinks=None):
        each = q.shape[1] // k.shape[1]
        x, slope, seen = scores(q, k, causal, None if bug == "window forgotten" else window, softcap)
        w = weighed(x, seen, None if bug == "sink forgotten" else sinks)
        of_weights = dout @ turned(v.repeat(each, 1))
        before = w * (of_weights - (of_weights * w).sum(-1, keepdims=True))
        before = before * q.dtype.type(q.shape[-1] ** -0.5) * (1 if bug == "slope of the cap forgotten" else slope)
        dk, dv = turned(before) @ q, turned(w) @ dout
        b, h, s, _ = dk.shape
        if bug == "heads that take turns":
            dk, dv = (y.reshape(b, each, h // each, s, -1).sum(1) for y in (dk, dv))
        elif bug == "one head of those that share":
            dk, dv = (y[:, ::each] for y in (dk, dv))
        else:
            dk, dv = (y.reshape(b, h // each, each, s, -1).sum(2) for y in (dk, dv))
        return before @ k.repeat(each, 1), dk, dv

    return target


BUGS_OF_FEATURES = (
    ("window forgotten", "sliding-window"), ("sink forgotten", "causal"), ("slope of the cap forgotten", "softcap"),
    ("heads that take turns", "grouped-query"), ("one head of those that share", "multi-head"),
)  # fmt: skip
"""Bugs that need a feature, and a kind that hands it over."""
