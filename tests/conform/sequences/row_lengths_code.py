"""Caches whose rows may have filled different numbers of positions, right and with a bug."""

import numpy as np


def attend(q, k, v, seen):
    scores = np.where(seen, q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5), -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0)).astype(q.dtype)
    return weights / np.maximum(weights.sum(-1, keepdims=True), q.dtype.type(1e-30)) @ v


def by_mask(bug="", meaning="keep", keys=False):
    """With a mask [b 1 t s], or one of keys [b s]; of a bug only its name is known."""

    def called(q, k, v, mask, cache):
        past = 0 if cache is None else cache[0].shape[-2]
        if cache is not None:
            k, v = (np.concatenate(each, -2) for each in zip(cache, (k, v), strict=True))
        t, s = q.shape[-2], k.shape[-2]
        seen = np.tri(t, s, past, dtype=bool)
        if mask is not None and not (bug == "steps forget the mask" and past):
            mask = mask[:, None, None] if keys else mask
            mask = {"keep": lambda: mask, "drop": lambda: ~mask, "added": lambda: mask == 0}[meaning]()
            seen = seen & (mask[:1] if bug == "mask of the first row" else mask)
        if bug == "two tokens see the padding" and past and t > 1:
            seen = np.tri(t, s, past, dtype=bool)
        if bug == "the mask of a chunk begins anew" and past and t > 1 and mask is not None:
            early = np.concatenate([mask[..., :t], np.ones_like(mask[..., t:])], -1)
            seen = np.tri(t, s, past, dtype=bool) & early
        if bug == "mask is ignored":
            seen = np.tri(t, s, past, dtype=bool)
        return attend(q, k, v, seen), (k, v)

    if keys:
        return lambda q, k, v, key_padding_mask=None, cache=None: called(q, k, v, key_padding_mask, cache)
    return lambda q, k, v, attn_mask=None, cache=None: called(q, k, v, attn_mask, cache)


def by_lengths(bug="", counts="with"):
    """With the number of positions that each row has filled, with or without the new tokens."""

    def target(q, k, v, cache=None, cache_lens=None):
        lengths = cache_lens
        t = q.shape[-2]
        b, h, d, e = *q.shape[:2], q.shape[-1], v.shape[-1]
        if cache is None:
            cache = np.zeros((b, h, 200, d), k.dtype), np.zeros((b, h, 200, e), v.dtype), np.zeros(b, int)
        keys, values, filled = (x.copy() for x in cache)
        new = filled + t
        if lengths is not None:
            new = {"with": lengths, "before": np.where(filled > 0, lengths + t, t), "new": filled + lengths}[counts]
        out = []
        for i in range(b):
            at = filled.max() if bug == "one place for all rows" else filled[i]
            keys[i, :, at : at + t], values[i, :, at : at + t] = k[i], v[i]
            last = filled.max() if bug == "the longest counts" else at
            seen = np.arange(200) <= last + np.arange(t)[:, None]
            out.append(attend(q[i], keys[i], values[i], seen))
        return np.stack(out), (keys, values, np.asarray(new))

    return target


def hides_keys_alone(q, k, v, cache=None, lengths=None):
    """Keys after a length are hidden, and what is new stands after the padding."""
    past = 0 if cache is None else cache[0].shape[-2]
    if cache is not None:
        k, v = (np.concatenate(each, -2) for each in zip(cache, (k, v), strict=True))
    seen = np.tri(q.shape[-2], k.shape[-2], past, dtype=bool)
    if lengths is not None:
        seen = seen & (np.arange(k.shape[-2]) < lengths[:, None, None, None])
    return attend(q, k, v, seen), (k, v)


RIGHT = {
    "a mask": by_mask(),
    "a mask that drops": by_mask(meaning="drop"),
    "a mask that is added": by_mask(meaning="added"),
    "a mask of keys": by_mask(keys=True),
    "a mask of keys that drops": by_mask(meaning="drop", keys=True),
    "lengths": by_lengths(),
    "lengths of the new": by_lengths(counts="new"),
}

BUGS = {
    "steps forget the mask": by_mask,
    "mask of the first row": by_mask,
    "mask is ignored": by_mask,
    "two tokens see the padding": by_mask,
    "the mask of a chunk begins anew": by_mask,
    "one place for all rows": by_lengths,
    "the longest counts": by_lengths,
}
