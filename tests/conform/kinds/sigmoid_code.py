"""Attention of sigmoids, right in several styles, and with bugs planted in it."""

import numpy as np

KIND = "sigmoid"


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def seen_by(q, k, shift=0):
    t, s = q.shape[-2], k.shape[-2]
    return np.tri(t, s, s - t + shift, dtype=bool)


def scored(q, k):
    return q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)


def with_log(q, k, v, mask=None, causal=False):
    """The paper's: minus the logarithm of the number of keys."""
    x = scored(q, k) - q.dtype.type(np.log(k.shape[-2]))
    x = np.where(seen_by(q, k), x, -np.inf).astype(q.dtype) if causal else x
    x = x if mask is None else np.where(mask, x, -np.inf).astype(q.dtype)
    return sigmoid(x) @ v


def by_tanh(q, k, v, key_padding_mask=None, scale=None, bias=0.0):
    """In the order [b t h d], by a hyperbolic tangent, with a scale and a bias of the caller's."""
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    x = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale or q.shape[-1] ** -0.5) + q.dtype.type(bias)
    weights = (1 + np.tanh(x / 2)) / 2
    weights = weights if key_padding_mask is None else weights * ~key_padding_mask[:, None, None]
    return (weights.astype(q.dtype) @ v).swapaxes(1, 2)


def by_blocks(q, k, v, is_causal=True, attn_mask=None):
    """Blocks of 16 keys, which need no maximum and no rescaling; the mask is added."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for i in range(0, k.shape[-2], 16):
        x = scored(q, k[..., i : i + 16, :])
        x = x if attn_mask is None else x + attn_mask[..., i : i + 16]
        weights = sigmoid(x) * (seen_by(q, k)[:, i : i + 16] if is_causal else True)
        out += weights.astype(q.dtype) @ v[..., i : i + 16, :]
    return out


def of_what_is_seen(q, k, v):
    """Causal, minus the logarithm of the number of keys that a query sees; one query after the other; one head."""
    assert q.ndim == 3
    out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for t in range(q.shape[1]):
        n = k.shape[1] - q.shape[1] + t + 1
        if n > 0:
            x = scored(q[:, t : t + 1], k[:, :n]) - q.dtype.type(np.log(n))
            out[:, t : t + 1] = sigmoid(x) @ v[:, :n]
    return out


def in_float32(q, k, v, mask=None):
    """In float32, whatever comes in."""
    return with_log(*(x.astype(np.float32) for x in (q, k, v)), mask).astype(q.dtype)


def on_fewer_keys(q, k, v, mask=None, causal=False):
    """Each head of keys serves its neighbours among the queries."""
    times = q.shape[1] // k.shape[1]
    return with_log(q, *(np.repeat(x, times, 1) for x in (k, v)), mask, causal)


RIGHT = (with_log, by_tanh, by_blocks, of_what_is_seen, in_float32, on_fewer_keys)


def buggy(bug):
    """Attention of sigmoids with a mask, a flag and a scale; and a word for what is wrong."""

    def target(q, k, v, mask=None, causal=False, scale=None, key_padding_mask=None):
        one, (t, s), times = q.dtype.type, (q.shape[-2], k.shape[-2]), q.shape[1] // max(k.shape[1], 1)
        if times > 1:
            order = np.arange(q.shape[1])
            order = order % k.shape[1] if bug == "heads in another order when causal" and causal else order // times
            k, v = k[:, order], v[:, order]
        factor = q.shape[-1] ** -0.5 if scale is None or bug == "scale ignored" else scale
        x = q @ np.swapaxes(k, -1, -2) * one(factor)
        if bug == "large scores are clipped":
            x = np.clip(x, -8, 8)
        x = x - one(np.log({"log of the queries": t, "log of 16 at most": min(s, 16)}.get(bug, s)))
        if mask is not None and bug != "mask ignored":
            mask = {"mask of the first": mask[:1], "mask of the first head": mask[:, :1]}.get(bug, mask)
            mask = np.swapaxes(mask, -1, -2) if bug == "mask transposed" and t == s else mask
            x = np.where(mask, x, one(-2) if bug == "hidden keys count a little" else one(-np.inf))
        if key_padding_mask is not None and bug != "padding ignored":
            x = np.where(key_padding_mask[:, None, None], x, one(-np.inf))
        if causal and bug != "flag ignored":
            x = np.where(seen_by(q, k, {"sees one more": 1, "not itself": -1}.get(bug, 0)), x, one(-np.inf))
        weights = sigmoid(x)
        if bug == "divided by the sum when long" and s > 64:
            weights = weights / weights.sum(-1, keepdims=True)
        if bug == "weights in half precision":
            weights = weights.astype(np.float16).astype(q.dtype)
        if bug == "padding only without a mask" and mask is not None:
            weights = sigmoid(
                np.where(mask, scored(q, k) * one(factor * q.shape[-1] ** 0.5) - one(np.log(s)), -np.inf)
            )
        if bug == "heads above eight repeat" and q.shape[1] > 8:
            weights = np.concatenate([weights[:, :8], weights[:, : q.shape[1] - 8]], 1)
        out = weights.astype(q.dtype) @ v
        if bug == "contiguous only" and not v.flags.c_contiguous:
            out = out * one(1.01)
        if bug == "writes into v":
            v += one(1e-3)
        return out

    return target


BUGS = (
    "scale ignored", "large scores are clipped", "log of the queries", "log of 16 at most", "mask ignored",
    "mask of the first", "mask of the first head", "mask transposed", "hidden keys count a little",
    "padding ignored", "flag ignored", "sees one more", "not itself", "divided by the sum when long",
    "weights in half precision", "padding only without a mask", "heads above eight repeat", "contiguous only",
    "writes into v", "heads in another order when causal",
)  # fmt: skip
