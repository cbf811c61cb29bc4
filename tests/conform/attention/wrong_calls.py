"""Attention with bugs that show in calls that are seldom tried."""

import numpy as np

from tests.conform.right import plain


def grouped(bug):
    def target(q, k, v):
        h, n = q.shape[1], k.shape[1]
        if bug == "divided by the groups":
            shared = np.minimum(np.arange(h) // n, n - 1)
        elif bug == "repeated as often as there are groups":
            shared = np.repeat(np.arange(n), n if n > 1 else h)[:h]
        else:
            shared = np.arange(h) // (h // n)
        if bug == "one head of queries where keys have one" and n == 1:
            q = np.repeat(q[:, :1], h, 1)
        return plain(q, k[:, shared], v[:, shared])

    return target


def early(bug):
    """The last query sees the last key."""

    def target(q, k, v):
        t, s = q.shape[-2], k.shape[-2]
        seen = np.tri(t, s, s - t, dtype=bool)
        if bug == "reads all before the first key":
            seen |= ~seen.any(-1, keepdims=True)
        if bug == "one key to all before the first":
            seen[:, :1] |= ~seen.any(-1, keepdims=True)
        return plain(q, k, v, seen)

    return target


def filled(bug):
    """Masks with a finite number in half precision only; adds up in float32."""

    def target(q, k, v, mask=None):
        wide = [x.astype(np.result_type(x, np.float32)) for x in (q, k, v)]
        scores = wide[0] @ np.swapaxes(wide[1], -1, -2) * wide[0].dtype.type(q.shape[-1] ** -0.5)
        fill = {"-1e4": -1e4, "-3e4": -3e4, "lowest": -65504.0}.get(bug, -np.inf) if q.dtype == "f2" else -np.inf
        if mask is not None and bug == "added" and q.dtype == "f2":
            scores = scores + np.where(mask, 0, np.float32(-65504))
        elif mask is not None:
            scores = np.where(mask, scores, scores.dtype.type(fill))
        top = scores.max(-1, keepdims=True)
        raised = np.exp(scores - np.where(np.isfinite(top), top, 0))
        return (raised / raised.sum(-1, keepdims=True) @ wide[2]).astype(q.dtype)

    return target


def windowed(bug):
    def target(q, k, v, window):
        if bug == "windows in blocks of 16" and window > 16:
            window = -(-window // 16) * 16
        back = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])
        return plain(q, k, v, (back >= 0) & (back < window))

    return target


def biased(bug):
    def target(q, k, v, bias):
        if bug == "clipped at 50":
            bias = np.clip(bias, -50, 50)
        if bug == "clipped from below":
            bias = np.maximum(bias, -50)
        if bug == "nothing below -1e3":
            bias = np.where(bias < -1e3, 0, bias)
        return added(q, k, v, bias.astype(q.dtype))

    return target


def added(q, k, v, bias):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5) + bias
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def buffered(bug):
    kept = {}

    def target(q, k, v):
        out = plain(q, k, v)
        if bug != "one buffer for all calls":
            return out
        buffer = kept.setdefault((out.shape, out.dtype), np.empty_like(out))
        buffer[...] = out
        return buffer

    return target


def flagged(bug):
    """Keeps a mask for each length."""
    kept = {}

    def target(q, k, v, causal=False):
        sizes = q.shape[-2], k.shape[-2]
        key = sizes if bug == "a mask for each length" else (sizes, causal)
        if key not in kept:
            kept[key] = np.tri(*sizes, sizes[1] - sizes[0], dtype=bool) if causal else np.ones(sizes, bool)
        return plain(q, k, v, kept[key])

    return target


MADE = {
    buffered: {"one buffer for all calls": ("softmax", "outputs stay")},
    flagged: {"a mask for each length": ("causal", "flag")},
    windowed: {"windows in blocks of 16": ("sliding-window", "feature")},
    biased: {
        "clipped at 50": ("bias", "large biases"),
        "clipped from below": ("bias", "large biases"),
        "nothing below -1e3": ("bias", "large biases"),
    },
    filled: {"-1e4": ("softmax", "hidden keys")},
    early: {
        "reads all before the first key": ("causal", "early queries"),
        "one key to all before the first": ("causal", "early queries"),
    },
    grouped: {
        "divided by the groups": ("grouped-query", "groupings"),
        "repeated as often as there are groups": ("grouped-query", "groupings"),
        "one head of queries where keys have one": ("grouped-query", "groupings"),
    },
}
"""Who makes the bugs, what they are, the kind they are judged as, and the identity that finds each."""
