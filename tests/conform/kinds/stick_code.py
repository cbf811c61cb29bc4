"""Stick-breaking attention, right in several styles, and with bugs planted in it."""

import numpy as np

KIND = "stick-breaking"


def log_sigmoid(x):
    return np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))


def scored(q, k, scale=None):
    return q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale or q.shape[-1] ** -0.5)


def past(q, k, own=False, shift=0):
    t, s = q.shape[-2], k.shape[-2]
    return np.tri(t, s, s - t - (not own) + shift, dtype=bool)


def by_logs(q, k, v, mask=None, scale=None, attend_current=False):
    """Sums of logarithms, from the query backwards. The mask is [t s] or [b h t s]."""
    x = scored(q, k, scale)
    seen = past(q, k, attend_current) & (True if mask is None else mask)
    logs = np.where(seen, log_sigmoid(-x), 0).astype(q.dtype)
    later = np.cumsum(logs[..., ::-1], -1)[..., ::-1]
    between = np.concatenate([later[..., 1:], np.zeros_like(later[..., :1])], -1)
    return np.where(seen, np.exp(log_sigmoid(x) + between), 0).astype(q.dtype) @ v


def stick_by_stick(q, k, v, key_padding_mask=None):
    """[b t h d]; products of shares, one key after the other, and what is left goes to the token's own value."""
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    x, t, s = scored(q, k), q.shape[-2], k.shape[-2]
    shares = (1 / (1 + np.exp(-x))).astype(q.dtype)
    shares = shares if key_padding_mask is None else shares * ~key_padding_mask[:, None, None]
    out, left = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype), np.ones((*q.shape[:-1], 1), q.dtype)
    for i in range(s)[::-1]:
        share = np.where(past(q, k)[:, i], shares[..., i], 0)[..., None]
        out, left = out + left * share * v[..., i : i + 1, :], left * (1 - share)
    return (out + left * v[..., s - t :, :]).astype(q.dtype).swapaxes(1, 2)


def with_the_rest(q, k, v, inv_temp=None, attend_current=True):
    """The output, and what is left over beside it; a sum of logarithms is a difference of two; one head."""
    assert q.ndim == 3
    x = scored(q, k)
    seen = past(q, k, attend_current)
    logs = np.where(seen, log_sigmoid(-x), 0).astype(q.dtype)
    total = logs.sum(-1, keepdims=True)
    weights = np.where(seen, np.exp(log_sigmoid(x) + total - np.cumsum(logs, -1)), 0).astype(q.dtype)
    return weights @ v, np.exp(total[..., 0])


def query_by_query(q, k, v):
    """Without a mask, in a loop; a token weighs itself."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for t in range(q.shape[-2]):
        n = k.shape[-2] - q.shape[-2] + t + 1
        x = scored(q[..., t : t + 1, :], k[..., :n, :])
        logs = log_sigmoid(-x)[..., ::-1]
        between = np.concatenate([np.zeros_like(logs[..., :1]), np.cumsum(logs, -1)[..., :-1]], -1)[..., ::-1]
        out[..., t : t + 1, :] = np.exp(log_sigmoid(x) + between).astype(q.dtype) @ v[..., :n, :]
    return out


def in_float32(q, k, v, mask=None):
    """In float32, whatever comes in."""
    return by_logs(*(x.astype(np.float32) for x in (q, k, v)), mask).astype(q.dtype)


def on_fewer_keys(q, k, v, mask=None):
    """Each head of keys serves its neighbours among the queries."""
    return by_logs(q, *(np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v)), mask)


RIGHT = (by_logs, stick_by_stick, with_the_rest, query_by_query, in_float32, on_fewer_keys)


def buggy(bug):
    """Stick-breaking attention with masks, a scale, a flag and what is left over; and a word for what is wrong."""

    def target(q, k, v, mask=None, scale=None, key_padding_mask=None, attend_current=False):
        s = k.shape[-2]
        x = scored(q, k, None if bug == "scale ignored" else scale)
        if bug == "large scores are clipped":
            x = np.clip(x, -8, 8)
        shift = 1 if bug == "sees one more when long" and s > 64 else 0
        seen = past(q, k, attend_current and bug != "flag ignored", shift)
        shown = np.ones_like(seen)
        if mask is not None and bug != "mask ignored":
            shown = shown & mask
        if key_padding_mask is not None and bug != "padding ignored":
            shown = shown & key_padding_mask[:, None, None]
        broken = seen if bug == "mask after the break" else seen & shown
        logs = np.where(broken, log_sigmoid(-x), 0)
        if bug == "the farthest first":
            between = np.cumsum(logs, -1) - logs
        else:
            later = np.cumsum(logs[..., ::-1], -1)[..., ::-1]
            between = np.concatenate([later[..., 1:], np.zeros_like(later[..., :1])], -1)
        if bug == "breaks its own share off":
            between = between + logs
        if bug == "blocks begin anew":
            start = np.minimum(np.arange(s) // 64 * 64 + 64, s) % s
            between = between - np.where(start == 0, 0, later[..., start])
        if bug == "one block is not carried":
            between = np.where(np.arange(s) < s - 64, between / 2, between)
        if bug == "a floor below the logarithms":
            between = np.maximum(between, -6)
        weights = np.where(seen & shown, np.exp(log_sigmoid(x) + between), 0)
        if bug == "divided by the sum when long" and s > 64:
            weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-9)
        if bug == "weights in half precision":
            weights = weights.astype(np.float16)
        rest = np.exp(logs.sum(-1))
        if bug == "the rest of one key less":
            rest = np.exp(logs[..., 1:].sum(-1))
        if bug == "the rest counts hidden keys":
            rest = np.exp(np.where(seen, log_sigmoid(-x), 0).sum(-1))
        return weights.astype(q.dtype) @ v, rest.astype(q.dtype)

    return target


BUGS = (
    "scale ignored", "large scores are clipped", "sees one more when long", "flag ignored", "mask ignored",
    "padding ignored", "mask after the break", "the farthest first", "breaks its own share off",
    "blocks begin anew", "one block is not carried", "a floor below the logarithms",
    "divided by the sum when long", "weights in half precision", "the rest of one key less",
    "the rest counts hidden keys",
)  # fmt: skip
