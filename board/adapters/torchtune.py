"""torchtune: the attention of its layers, with projections that pick q, k and v, and its rotation."""

import functools

from torch import nn
from torchtune.modules import MultiHeadAttention, RotaryPositionalEmbeddings


class Part(nn.Module):
    """A part of the last axis."""

    def __init__(self, start, end):
        super().__init__()
        self.start, self.end = start, end

    def forward(self, x):
        """The part."""
        return x[..., self.start : self.end]


def _run(q, k, v, mask, causal):
    (b, h, t, d), g = q.shape, k.shape[1]
    if k.shape != v.shape:
        raise ValueError("values must be as wide as keys")
    parts = {"q_proj": Part(0, h * d), "k_proj": Part(0, g * d), "v_proj": Part(g * d, 2 * g * d)}
    sizes = {"embed_dim": h * d, "num_heads": h, "num_kv_heads": g, "head_dim": d}
    layer = MultiHeadAttention(**sizes, **parts, output_proj=nn.Identity(), is_causal=causal).eval()
    mask = mask if mask is None else mask.expand(b, t, k.shape[2])
    q, k, v = (x.transpose(1, 2).flatten(2) for x in (q, k, v))
    y = k.new_empty(b, k.shape[1], 2 * g * d)
    y[..., : g * d], y[..., g * d :] = k, v
    return layer(q, y, mask=mask).unflatten(2, (h, d)).transpose(1, 2)


def attend(q, k, v, mask=None):
    """[b h t d]; True keeps."""
    return _run(q, k, v, mask, False)


def causal(q, k, v):
    """Without a mask it is causal."""
    return _run(q, k, v, None, True)


@functools.cache
def _rotation(width):
    return RotaryPositionalEmbeddings(width)


def rotate(x, positions):
    """[b t h d] and [b t]."""
    return _rotation(x.shape[-1])(x, input_pos=positions)
