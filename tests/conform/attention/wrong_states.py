"""Attention with bugs that show in the padding of a batch, in repetition, or in what stays of a call."""

import numpy as np

from tests.conform.right import plain


def padded(bug):
    """Takes a mask for each batch element, as torch's modules do, and none for each head."""

    def target(q, k, v, mask=None):
        if mask is not None and mask.ndim == 4:
            assert mask.shape[1] == 1
            mask = mask[:1] if bug == "first element's mask" else mask
            if bug == "mask cut in a cache" and q.shape[-2] == 1:
                mask = np.ones_like(mask)
        return plain(q, k, v, mask)

    return target


def hides_keys(bug):
    def target(q, k, v, key_padding_mask=None, lengths=None, mask=None):
        keep = np.ones((1, 1, 1, k.shape[-2]), bool) if mask is None else mask
        if key_padding_mask is not None:
            given = key_padding_mask[:1] if bug == "first element's padding" else key_padding_mask
            keep = keep & ~given[:, None, None]
        if lengths is not None:
            lengths = lengths + (bug == "one key too many" and k.shape[-2] > 16)
            if bug != "mask wins over lengths" or mask is None:
                keep = keep & (np.arange(k.shape[-2]) < lengths[:, None, None, None])
        return plain(q, k, v, keep)

    return target


def repeated(bug):
    calls = {}

    def target(q, k, v):
        calls[q.tobytes()] = number = calls.get(q.tobytes(), 0) + 1
        late = bug == "every hundredth" and number % 100 == 0
        return plain(q, k, v) * q.dtype.type(1 + np.finfo(q.dtype).eps * 2 * late)

    return target


def remembering(bug):
    """Keeps the factor of its scores for a width, and sets it before it looks at what it was given."""
    kept = {}

    def target(q, k, v):
        if bug == "kept before it looked" and k.shape[-1] != q.shape[-1]:
            kept[q.shape[-2]] = k.shape[-1]
        assert k.shape[-1] == q.shape[-1]
        if (width := kept.get(q.shape[-2])) is not None:
            q = q * q.dtype.type((q.shape[-1] / width) ** 0.5)
        return plain(q, k, v)

    return target


def of_class(bug):
    """Two objects share what belongs to each."""

    class Layer:
        made = 0
        width = None

        def __init__(self):
            Layer.made += 1
            self.number = Layer.made

        def __call__(self, q, k, v):
            if bug == "shared state":
                Layer.width = q.shape[-1] if self.number > 1 else Layer.width
                q = q * q.dtype.type((q.shape[-1] / (Layer.width or q.shape[-1])) ** 0.5)
            late = bug == "second differs" and self.number > 1
            return plain(q, k, v) * q.dtype.type(1.001 if late else 1)

    return Layer


MADE = {
    padded: {
        "first element's mask": "padding by element",
        "mask cut in a cache": "padding by element",
    },
    hides_keys: {
        "first element's padding": "padding by element",
        "one key too many": "padding by element",
        "mask wins over lengths": "pairs",
    },
    repeated: {"every hundredth": "repetitions"},
    remembering: {"kept before it looked": "after a refusal"},
    of_class: {"shared state": "two objects", "second differs": "two objects"},
}
"""Who makes the bugs, what they are, and the identity that finds each."""
