"""Attention under a block mask, right in several styles, and with bugs planted in it."""

import numpy as np


def attend(q, k, v, seen, *, causal=False, scale=None):
    x = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale or q.shape[-1] ** -0.5)
    seen = seen & np.tri(*x.shape[-2:], x.shape[-1] - x.shape[-2], dtype=bool) if causal else seen
    x = np.where(seen, x, -np.inf).astype(q.dtype)
    top = x.max(-1, keepdims=True)
    raised = np.exp(x - np.where(np.isinf(top), 0, top))
    total = raised.sum(-1, keepdims=True)
    return (raised / np.where(total == 0, 1, total) @ v).astype(q.dtype)


def asked(mask_mod, shape):
    """What a function says of each pair, one after the other, as plain numbers."""
    seen = np.zeros(shape, bool)
    for place in np.ndindex(*shape):
        seen[place] = mask_mod(*place)
    return seen


def pair_by_pair(q, k, v, mask_mod=None, causal=False):
    shape = (*q.shape[:3], k.shape[2])
    return attend(q, k, v, np.ones(shape, bool) if mask_mod is None else asked(mask_mod, shape), causal=causal)


def all_at_once(q, k, v, *, mask_fn=None, scale=None):
    """A function of two grids; keys may be hidden for all heads alike."""
    t, s = np.ogrid[: q.shape[2], : k.shape[2]]
    return attend(q, k, v, np.ones((t.size, s.size), bool) if mask_fn is None else mask_fn(t, s), scale=scale)


def grown(blocks, t, s):
    return blocks.repeat(t // blocks.shape[-2], -2).repeat(s // blocks.shape[-1], -1)


def of_blocks(q, k, v, block_mask=None, attn_mask=None):
    """In the order [b t h d]; an array of blocks, and a mask beside it."""
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    t, s = q.shape[2], k.shape[2]
    seen = np.ones((t, s), bool) if block_mask is None else grown(block_mask, t, s)
    return attend(q, k, v, seen if attn_mask is None else seen & attn_mask).swapaxes(1, 2)


def block_by_block(q, k, v, layout=None, block_mask=None, block_size=64):
    """The blocks of a query one after the other; those that are hidden are not looked at."""
    if block_mask is None:
        return attend(q, k, v, np.ones((1, 1), bool))
    out = np.zeros((*q.shape[:3], v.shape[-1]), q.dtype)
    for b, h, i in np.ndindex(*block_mask.shape[:3]):
        rows = slice(i * block_size, (i + 1) * block_size)
        keys = np.flatnonzero(block_mask[b, h, i].repeat(block_size))
        out[b, h, rows] = attend(q[b, h, rows], k[b, h, keys], v[b, h, keys], True)
    return out


def hides(q, k, v, block_mask=None):
    """True hides a block."""
    return attend(
        q, k, v, np.ones((1, 1), bool) if block_mask is None else ~grown(block_mask, q.shape[2], k.shape[2])
    )


def beside_others(q, k, v, block_mask=None, window=None, softcap=None, s_aux=None, causal=False, bug=""):
    """An array of blocks beside a window, a cap and sinks; `bug` says what is forgotten beside what."""
    t, s = q.shape[2], k.shape[2]
    back = np.arange(t)[:, None] + s - t - np.arange(s)
    seen = (back >= 0) | (not causal)
    if block_mask is not None:
        forgets = (bug == "blocks beside a window" and window) or (
            bug == "blocks beside sinks" and s_aux is not None
        )
        seen = seen & (True if forgets else grown(block_mask, t, s))
        window = None if bug == "a window beside blocks" else window
        s_aux = None if bug == "sinks beside blocks" else s_aux
        softcap = None if bug == "a cap beside blocks" else softcap
    seen = seen if window is None else seen & (back >= 0) & (back < window)
    x = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    x = x if softcap is None else q.dtype.type(softcap) * np.tanh(x / q.dtype.type(softcap))
    x = np.where(seen, x, -np.inf).astype(q.dtype)
    if s_aux is not None:
        x = np.concatenate([x, np.broadcast_to(s_aux[:, None, None], (*x.shape[:3], 1)).astype(q.dtype)], -1)
    top = x.max(-1, keepdims=True)
    raised = np.exp(x - np.where(np.isinf(top), 0, top))
    total = raised.sum(-1, keepdims=True)
    return (raised / np.where(total == 0, 1, total)).astype(q.dtype)[..., :s] @ v


FORGETS = (
    "blocks beside a window", "blocks beside sinks", "a window beside blocks", "sinks beside blocks",
    "a cap beside blocks",
)  # fmt: skip

RIGHT = (pair_by_pair, all_at_once, of_blocks, block_by_block, hides)


def buggy(bug):
    """A function or an array of blocks, and a word for what is wrong."""
    if bug.startswith("blocks"):

        def of_array(q, k, v, block_mask=None, causal=False):
            t, s = q.shape[2], k.shape[2]
            seen = np.ones((t, s), bool) if block_mask is None else grown(block_mask, t, s)
            if bug == "blocks transposed" and block_mask is not None and t == s:
                seen = np.swapaxes(seen, -1, -2)
            if bug == "blocks one token late" and block_mask is not None:
                seen = np.concatenate([seen[..., :1], seen[..., :-1]], -1)
            if bug == "blocks of the first element" and block_mask is not None:
                seen = seen[:1]
            if bug == "blocks forgotten beside the flag" and causal:
                seen = np.ones((t, s), bool)
            if (
                bug == "blocks of 16 lose their last key"
                and block_mask is not None
                and s // block_mask.shape[-1] > 15
            ):
                seen = seen & (np.arange(s) != s - 1)
            return attend(q, k, v, seen, causal=causal)

        return of_array

    def of_function(q, k, v, mask_mod=None, scale=None):
        shape, n = (*q.shape[:3], k.shape[2]), min(q.shape[2], k.shape[2])
        seen = np.ones(shape, bool)
        if mask_mod is not None and bug != "function ignored":
            seen = asked(
                {
                    "": mask_mod,
                    "function of keys and queries": lambda b, h, i, j: (
                        mask_mod(b, h, j, i) if max(i, j) < n else mask_mod(b, h, i, j)
                    ),
                    "function of the next key": lambda b, h, i, j: mask_mod(b, h, i, min(j + 1, shape[3] - 1)),
                    "function of the first head": lambda b, h, i, j: mask_mod(b, 0, i, j),
                    "function of 64 keys": lambda b, h, i, j: j >= 64 or mask_mod(b, h, i, j),
                    "function of every fourth query": lambda b, h, i, j: mask_mod(b, h, i - i % 4, j),
                }[bug],
                shape,
            )
        return attend(q, k, v, seen, scale=scale)

    return of_function


BUGS = (
    "blocks transposed", "blocks one token late", "blocks of the first element", "blocks forgotten beside the flag",
    "blocks of 16 lose their last key", "function ignored", "function of keys and queries",
    "function of the next key", "function of the first head", "function of 64 keys",
    "function of every fourth query",
)  # fmt: skip
