"""Attention whose bugs need two things at once: each feature alone is right. Also sizes and views of memory."""

import numpy as np


def attend(q, k, v, seen=None, bias=None, scale=None, softcap=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        scores = q.dtype.type(softcap) * np.tanh(scores / q.dtype.type(softcap))
    scores = scores if bias is None else scores + bias
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    raised = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = raised.sum(-1, keepdims=True)
    return (raised / np.where(total == 0, 1, total)) @ v


def back(q, k):
    return np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2] - np.arange(k.shape[-2])


def repeated(x, times):
    return np.repeat(x, times, 1)


def tiled(x, times):
    return np.concatenate([x] * times, 1)


def decoder(bug):
    """Takes all that a decoder has."""

    def target(q, k, v, mask=None, is_causal=False, window=None, softcap=None, bias=None):
        times = q.shape[1] // k.shape[1]
        wrong = {
            "tiled when causal": is_causal,
            "tiled in a window": window is not None,
            "tiled beside a mask": mask is not None,
            "tiled from four heads to a key": times >= 4,
            "tiled above eight heads": q.shape[1] > 8,
            "tiled when capped in a window": window is not None and softcap is not None and is_causal,
        }
        k, v = ((tiled if wrong.get(bug) else repeated)(x, times) for x in (k, v))
        seen = np.ones((q.shape[-2], k.shape[-2]), bool)
        if is_causal and bug != "never causal":
            seen &= back(q, k) >= 0
        if window is not None and not (bug == "no window when causal" and is_causal):
            wider = bug == "a wider window when causal" and is_causal
            seen &= (back(q, k) >= 0) & (back(q, k) < window + wider)
        if mask is not None:
            masked = bug != "no mask in one query of a batch" or q.shape[-2] > 1
            seen = seen & mask if masked else seen
        if (
            bias is not None
            and bug == "bias transposed in a square batch"
            and q.shape[0] == q.shape[-2] == k.shape[-2]
        ):
            bias = np.swapaxes(bias, -1, -2)
        if bug == "scale of 64 above width 64" and q.shape[-1] > 64:
            q = q * q.dtype.type((q.shape[-1] / 64) ** 0.5)
        return attend(q, k, v, seen, bias, softcap=softcap)

    return target


def reads_memory(bug):
    """Reads an array by its address, as a kernel does."""

    def read(x):
        steps = [*x.strides]
        if bug == "last step is one":
            steps[-1] = x.itemsize
        if bug == "elements lie behind each other" and x.ndim == 4:
            steps[0] = steps[1] * x.shape[1]
        if bug == "no rows of larger arrays" and steps[-1] == x.itemsize:
            steps[-2] = x.itemsize * x.shape[-1]
        return np.lib.stride_tricks.as_strided(x, x.shape, steps)

    def target(q, k, v, mask=None):
        return attend(read(q), read(k), read(v), mask)

    return target


DECODER = {
    "tiled when causal": ("grouped-query", "causal"),
    "tiled in a window": ("grouped-query", "causal"),
    "tiled beside a mask": ("grouped-query", "softmax"),
    "tiled from four heads to a key": ("grouped-query", "causal"),
    "tiled above eight heads": ("grouped-query", "multi-head"),
    "tiled when capped in a window": ("grouped-query", "softcap"),
    "no window when causal": ("causal", "sliding-window"),
    "a wider window when causal": ("causal", "sliding-window"),
    "no mask in one query of a batch": ("softmax", "causal"),
    "bias transposed in a square batch": ("bias", "softmax"),
    "scale of 64 above width 64": ("softmax", "multi-head"),
}
"""Bugs, and the kinds under which each is found."""

MEMORY = ("last step is one", "elements lie behind each other", "no rows of larger arrays")


def with_sum(bug):
    """Gives the log-sum-exp beside the output."""

    def target(q, k, v, mask=None, is_causal=False, key_padding_mask=None, sinks=None):
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        seen = np.ones(scores.shape, bool)
        shown = seen.copy()
        for name, hides in (
            ("mask", mask),
            ("flag", back(q, k) >= 0 if is_causal else None),
            ("padding", None if key_padding_mask is None else ~key_padding_mask[:, None, None]),
        ):
            if hides is not None:
                seen = seen & hides
                counts = bug == f"without the {name}" or (bug == "without the mask when causal" and is_causal)
                counts |= bug == "without the mask beside sinks" and sinks is not None
                shown = shown & (hides if not counts or (name != "mask" and " mask " in bug) else True)
        least = np.full((q.shape[1], 1), -np.inf) if sinks is None else sinks[:, None].astype(float)
        with np.errstate(divide="ignore"):
            of_keys = np.log(np.where(seen, np.exp(scores.astype(float)), 0).sum(-1))
            total = np.log(np.where(shown, np.exp(scores.astype(float)), 0).sum(-1))
            share = np.exp(of_keys - np.logaddexp(of_keys, least))[..., None]
        return (attend(q, k, v, seen) * share).astype(q.dtype), np.logaddexp(total, least).astype(q.dtype)

    return target


SUMS = (
    *("without the mask", "without the flag", "without the padding"),
    *("without the mask when causal", "without the mask beside sinks"),
)


def padded(bug):
    """Causal, with a mask of keys alone."""

    def target(q, k, v, key_padding_mask=None):
        seen = back(q, k) >= 0
        if key_padding_mask is not None:
            keys = ~key_padding_mask[:, None, None]
            keys = keys | (np.arange(k.shape[-2]) == 0) if bug == "the first key always" else keys
            if bug == "none at the start":
                keys = keys | (np.cumsum(keys, -1) == 0)
            seen = seen & keys
        if bug != "a finite fill":
            return attend(q, k, v, seen)
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        scores = np.where(seen, scores, np.finfo(q.dtype).min / 2)
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        return (raised / raised.sum(-1, keepdims=True)).astype(q.dtype) @ v

    return target


PADDED = {
    "a finite fill": "blind rows",
    "the first key always": "padding by element",
    "none at the start": "padding by element",
}
"""Bugs, and the identity that finds each."""


def causal_with(bug):
    """Always causal, on shared keys, with sinks and packed documents: what else is there hides neither bug."""

    def target(q, k, v, is_causal=True, sinks=None, segment_ids=None):
        times = q.shape[1] // k.shape[1]
        k, v = (repeated(x, times) for x in (k, v))
        seen = back(q, k)[None, None] >= (0 if is_causal else -np.inf)
        if segment_ids is not None and not (bug == "no documents on shared keys" and is_causal and times > 1):
            seen = seen & (segment_ids[:, None, :, None] == segment_ids[:, None, None])
        if sinks is None:
            return attend(q, k, v, seen)
        sinks = tiled(sinks[None, ::times], times)[0] if bug == "sinks of other heads on shared keys" else sinks
        wide = [np.concatenate([x, np.zeros_like(x[:, :, :1])], 2) for x in (k, v)]
        score = np.zeros((*seen.shape[:1], q.shape[1], q.shape[2], k.shape[2] + 1), q.dtype)
        score[..., -1] = sinks[:, None]
        seen = np.concatenate(
            [np.broadcast_to(seen, (*score.shape[:-1], k.shape[2])), score[..., -1:] > -np.inf], -1
        )
        return attend(q, *wide, seen, score)

    return target


FELT = ("no documents on shared keys", "sinks of other heads on shared keys")
"""Bugs that other features of a row may hide: values so large that no sink is felt, or other lengths of keys."""


def stops_at_a_hidden_block(size):
    """The usual loop over blocks of keys, which ends where it should go on."""

    def target(q, k, v, mask=None):
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        seen = np.broadcast_to(True if mask is None else mask, scores.shape).copy()
        for begin in range(0, k.shape[-2], size):
            if not seen[..., begin : begin + size].any():
                seen[..., begin:] = False
                break
        return attend(q, k, v, seen)

    return target
