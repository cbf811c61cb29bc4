"""Caches that keep a window of tokens, which is longer than most sequences: right, and with bugs at its edge."""

import numpy as np

from tests.conform.sequences.decoding import softmax


def rolling(window, bug=""):
    """f(q, k, v, cache=None): keys, values, and how many tokens there were."""

    def target(q, k, v, cache=None):
        old = 0 if cache is None else cache[2]
        if cache is not None:
            k, v = (np.concatenate(each, -2) for each in zip(cache[:2], (k, v), strict=True))
        new, held = q.shape[-2], k.shape[-2]
        rows, columns = old + np.arange(new)[:, None], old + new - held + np.arange(held)
        last = window + (bug == "a key too many is seen")
        if bug == "a chunk sees its whole cache" and old > window and new > 1:
            last = 2 * window
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        out = softmax(np.where((columns <= rows) & (columns > rows - last), scores, -np.inf)) @ v
        few = dict.fromkeys(("a key too few is kept", "a key too many is seen"), window - 2)
        keeps = {**few, "a chunk sees its whole cache": 2 * window}.get(bug, window)
        keeps = keeps if old + new > window else window
        return out, (k[..., max(0, held - keeps) :, :], v[..., max(0, held - keeps) :, :], old + new)

    return target


def newest_twice(window):
    """When it becomes full, the newest value is written to two places."""

    def target(q, k, v, cache=None):
        out, (keys, values, seen) = rolling(window)(q, k, v, cache)
        if cache is not None and cache[2] < window <= seen:
            values = np.concatenate([values[..., :-2, :], *[values[..., -1:, :]] * 2], -2)
        return out, (keys, values, seen)

    return target


RIGHT = {"of 8": rolling(8), "of 150": rolling(150), "of 400": rolling(400), "of 1000": rolling(1000)}

BUGS = {
    "a key too many, of 200": rolling(200, "a key too many is seen"),
    "a key too few, of 160": rolling(160, "a key too few is kept"),
    "the whole cache, of 256": rolling(256, "a chunk sees its whole cache"),
    "the newest is written twice, of 100": newest_twice(100),
}
"""What is wrong with them shows beyond the window alone."""
