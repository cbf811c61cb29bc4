"""Attention with bugs planted in it, in numpy. Each says which kind it claims to be."""

import numpy as np

calls: list[int] = []


def whole(q, k, v, mask=None, *, bug="", causal=False, window=None, softcap=None, bias=None, scale=None):
    """Everything in one function, and a word for what is wrong with it."""
    t, s, d = q.shape[-2], k.shape[-2], q.shape[-1]
    one = q.dtype.type
    if k.shape[-3:-2] != q.shape[-3:-2]:
        times = q.shape[-3] // k.shape[-3]
        k, v = (
            (np.concatenate([x] * times, -3) if bug == "groups mixed" and t > 8 else np.repeat(x, times, -3))
            for x in (k, v)
        )
    if bug == "wrong scale":
        scale = (d + 1) ** -0.5
    if bug == "scale by the wrong width":
        scale = v.shape[-1] ** -0.5
    if bug == "scale ignored":
        scale = None
    scores = q @ np.swapaxes(k, -1, -2) * one(d**-0.5 if scale is None else scale)
    if bug == "half-precision scores":
        scores = scores.astype(np.float16).astype(q.dtype)
    if bug == "absolute scores":
        scores = abs(scores)
    fill = -20.0 if bug == "fill of -20" else -1e4 if bug == "fill of -1e4" else -np.inf
    if softcap is not None and bug != "softcap after mask":
        cap = one(softcap * (1.1 if bug == "wrong cap" else 1.0))
        scores = cap * np.tanh(scores / cap)
    if bias is not None:
        scores = scores + (bias * one(d**-0.5) if bug == "bias before scale" else bias)
    seen = np.ones((t, s), bool)
    if causal:
        seen &= np.tri(t, s, s - t + (bug == "causal off by one"), dtype=bool)
        if bug == "causal by blocks of 16":
            seen |= (np.arange(s) // 16 == np.arange(t)[:, None] // 16) & (np.arange(t)[:, None] >= 16)
        if bug == "strictly causal":
            seen &= np.tri(t, s, s - t - 1, dtype=bool) | (np.arange(s) == 0)
    if window is not None:
        back = np.arange(t)[:, None] + s - t - np.arange(s)
        seen &= (back >= 0) & (back < window + (bug == "window wider when long" and s > 8))
    if mask is not None:
        if bug == "head 0's mask":
            mask = mask[:, :1] if mask.ndim == 4 else mask
        if bug == "mask of the first row":
            mask = np.zeros_like(mask) | mask[..., :1, :]
        seen = seen & mask if bug != "mask forgotten with causal" or not causal else seen
    if bug == "missing last key" and s > 16:
        seen = seen & (np.arange(s) < s - 1)
    scores = np.where(seen, scores, one(fill))
    if softcap is not None and bug == "softcap after mask":
        scores = softcap * np.tanh(scores / softcap)
    top = 0 if bug == "no maximum" else scores.max(-1, keepdims=True)
    if bug == "maximum of the last block" and s > 32:
        top = scores[..., (s - 1) // 32 * 32 :].max(-1, keepdims=True)
    raised = np.exp(scores - top)
    if bug == "mask after softmax":
        raised = np.where(seen, np.exp((q @ np.swapaxes(k, -1, -2)) * one(d**-0.5)), 0)
    total = raised.sum(-1, keepdims=True) + one(
        {"1e-3 in the normaliser": 1e-3, "1e-6 in the normaliser": 1e-6}.get(bug, 0)
    )
    if bug == "clipped exponent":
        raised = np.maximum(raised, one(1e-4))
    weights = raised / total
    if bug == "weights in half precision":
        weights = weights.astype(np.float16).astype(q.dtype)
    if bug == "writes into q":
        q *= one(d**-0.5)
    if bug == "writes into v":
        v -= v.mean()
    if bug == "remembers":
        calls.append(len(calls))
        weights = weights * one(1 + 1e-3 * (calls[-1] % 7 == 6))
    if bug == "batch normalised":
        v = v + 1e-3 * v.mean(0, keepdims=True)
    if bug == "contiguous only":
        v = np.ascontiguousarray(v) if v.flags.c_contiguous else v[..., ::-1, :]
    if bug == "one query squeezed":
        return np.squeeze(weights @ v, -2) if t == 1 else weights @ v
    if bug == "blocks of 64 forget":
        return weights[..., : s - s % 64 if s > 64 else s] @ v[..., : s - s % 64 if s > 64 else s, :]
    return weights @ v


def softmax(bug):
    def target(q, k, v, mask=None, scale=None):
        return whole(q, k, v, mask, scale=scale, bug=bug)

    return target


def causal(bug):
    def target(q, k, v, mask=None):
        return whole(q, k, v, mask, causal=True, bug=bug)

    return target


def grouped(bug):
    def target(q, k, v):
        return whole(q, k, v, bug=bug)

    return target


def windowed(bug):
    def target(q, k, v, window):
        return whole(q, k, v, window=window, bug=bug)

    return target


def capped(bug):
    def target(q, k, v, mask=None, softcap=None):
        return whole(q, k, v, mask, softcap=softcap, bug=bug)

    return target


def biased(bug):
    def target(q, k, v, bias):
        return whole(q, k, v, bias=bias, bug=bug)

    return target


MADE = {
    "softmax": softmax,
    "causal": causal,
    "multi-head": softmax,
    "grouped-query": grouped,
    "sliding-window": windowed,
    "softcap": capped,
    "bias": biased,
}

BUGS = {
    "no maximum": "softmax",
    "1e-3 in the normaliser": "softmax",
    "1e-6 in the normaliser": "softmax",
    "half-precision scores": "softmax",
    "weights in half precision": "softmax",
    "absolute scores": "softmax",
    "head 0's mask": "softmax",
    "mask of the first row": "softmax",
    "mask after softmax": "softmax",
    "wrong scale": "softmax",
    "scale by the wrong width": "softmax",
    "scale ignored": "softmax",
    "missing last key": "softmax",
    "clipped exponent": "softmax",
    "fill of -20": "softmax",
    "fill of -1e4": "softmax",
    "writes into q": "softmax",
    "writes into v": "softmax",
    "remembers": "softmax",
    "batch normalised": "softmax",
    "contiguous only": "softmax",
    "one query squeezed": "softmax",
    "blocks of 64 forget": "softmax",
    "maximum of the last block": "softmax",
    "causal off by one": "causal",
    "causal by blocks of 16": "causal",
    "strictly causal": "causal",
    "mask forgotten with causal": "causal",
    "groups mixed": "grouped-query",
    "window wider when long": "sliding-window",
    "softcap after mask": "softcap",
    "wrong cap": "softcap",
    "bias before scale": "bias",
}
"""What is wrong, and the kind it is judged as."""


LOSES = """

class AcceleratorError(RuntimeError):
    pass


LOST = []


def loses(q, k, v):
    LOST.extend([1] * (k.shape[-2] == 17))
    if LOST:
        raise AcceleratorError("CUDA error: device-side assert triggered")
    return {right}(q, k, v)
"""
"""What torch does after an index out of range, beside a function that is right."""
