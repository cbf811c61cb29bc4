"""Attention to the best k keys, right in several styles, and with bugs planted in it."""

import numpy as np

from tests.conform.kinds.difference_code import hidden, softmax
from tests.conform.kinds.stick_code import past, scored

KIND = "top-k"


def kept_by(x, top_k):
    """The best keys of each row; of equal scores the first."""
    order = np.argsort(-x, -1, kind="stable")[..., :top_k]
    kept = np.zeros(x.shape, bool)
    np.put_along_axis(kept, order, True, -1)
    return kept


def by_order(q, k, v, top_k, mask=None, causal=False, scale=None):
    x = hidden(scored(q, k, scale), q, k, mask, causal)
    return softmax(np.where(kept_by(x, top_k), x, -np.inf)).astype(q.dtype) @ v


def by_threshold(q, k, v, topk=2, key_padding_mask=None):
    """[b t h d]; all that is no less than the k-th score. Fewer keys are refused."""
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    if topk > k.shape[-2]:
        raise ValueError(f"topk is {topk}, and there are {k.shape[-2]} keys")
    x = hidden(scored(q, k), q, k, None if key_padding_mask is None else ~key_padding_mask[:, None, None])
    least = np.sort(x, -1)[..., -topk, None]
    return (softmax(np.where(x >= least, x, -np.inf)).astype(q.dtype) @ v).swapaxes(1, 2)


def gathered(q, k, v, top_k, is_causal=True):
    """One head: the values of the best keys are fetched; of equal scores the last."""
    assert q.ndim == 3
    x = hidden(scored(q, k), q, k, causal=is_causal)
    order = np.argsort(x, -1, kind="stable")[..., ::-1][..., :top_k]
    weights = softmax(np.take_along_axis(x, order, -1)).astype(q.dtype)
    rows = np.take_along_axis(v[:, None], order[..., None], 2)
    return (weights[..., None] * rows).sum(2).astype(q.dtype)


def in_float32(q, k, v, top_k):
    """In float32, whatever comes in."""
    return by_order(*(x.astype(np.float32) for x in (q, k, v)), top_k).astype(q.dtype)


def on_fewer_keys(q, k, v, top_k, mask=None, causal=False):
    """Head h of the queries reads the keys of head h % groups."""
    times = q.shape[1] // k.shape[1]
    return by_order(q, *(np.concatenate([x] * times, 1) for x in (k, v)), top_k, mask, causal)


RIGHT = (by_order, by_threshold, gathered, in_float32, on_fewer_keys)


def buggy(bug):
    """Attention to the best keys with a mask, a flag and a scale; and a word for what is wrong."""

    def target(q, k, v, top_k, mask=None, causal=False, scale=None, key_padding_mask=None):
        one, (t, s) = q.dtype.type, (q.shape[-2], k.shape[-2])
        bare = scored(q, k, None if bug == "scale ignored" else scale)
        shown = np.ones(bare.shape, bool)
        if mask is not None and bug != "mask ignored":
            shown = shown & mask
        if key_padding_mask is not None:
            shown = shown & key_padding_mask[:, None, None]
        if causal and bug != "flag ignored":
            shown = shown & past(q, k, own=True)
        x = np.where(shown, bare, one(-np.inf))
        counts = {
            "one key more": top_k + 1,
            "one key less when many": top_k - (top_k > 4),
            "two keys at least": max(top_k, 2),
            "eight keys at most": min(top_k, 8),
        }
        n = counts.get(bug, top_k)
        ranks = {
            "chosen before the mask": bare,
            "the largest in size": np.where(shown, abs(bare), -np.inf),
            "the smallest": np.where(shown, -bare, -np.inf),
            "chosen by the first head": x[:, :1],
            "chosen in half precision": x.astype(np.float16),
            "chosen by the mean query": x.mean(-2, keepdims=True),
        }
        kept = kept_by(np.broadcast_to(ranks.get(bug, x), x.shape), n)
        if bug == "blocks choose for themselves" and s > 64:
            kept = np.concatenate([kept_by(x[..., i : i + 64], n) for i in range(0, s, 64)], -1)
        if bug == "one of equal scores":
            kept &= kept_by(x, 1) | (x != x.max(-1, keepdims=True))
        if bug == "itself besides":
            kept = kept | np.eye(t, s, s - t, dtype=bool)
        if bug == "a choice for all queries":
            kept = np.broadcast_to(kept_by(x[..., -1:, :], n), x.shape)
        if bug == "not divided by what is kept":
            weights = softmax(x) * kept
        elif bug == "a mean of what is kept":
            weights = softmax(np.where(kept, 0 * bare, -np.inf))
        elif bug == "the others count a little":
            weights = softmax(np.where(kept, x, x - 8))
        else:
            weights = softmax(np.where(kept, x, -np.inf))
        if bug == "weights in half precision":
            weights = weights.astype(np.float16)
        return weights.astype(q.dtype) @ v

    return target


BUGS = (
    "scale ignored", "mask ignored", "flag ignored", "one key more", "one key less when many",
    "two keys at least", "eight keys at most", "chosen before the mask", "the largest in size", "the smallest",
    "chosen by the first head", "chosen in half precision", "blocks choose for themselves",
    "one of equal scores", "itself besides", "a choice for all queries", "not divided by what is kept",
    "a mean of what is kept", "the others count a little", "weights in half precision",
)  # fmt: skip
