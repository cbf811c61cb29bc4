"""LitGPT: the attention of its layers, and its rotation."""

import functools

from litgpt import Config
from litgpt.model import CausalSelfAttention, apply_rope, build_rope_cache


@functools.cache
def _layer(heads, width, softcap):
    config = Config(n_embd=heads * width, n_head=heads, head_size=width, attention_logit_softcapping=softcap)
    return CausalSelfAttention(config, block_idx=0).eval()


def _run(q, k, v, mask, softcap=None):
    mask = mask if mask is None else mask[(None,) * (4 - mask.ndim)]
    layer = _layer(q.shape[1], q.shape[-1], softcap)
    return layer.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2)


def masked(q, k, v, mask=None):
    """[b h t d]; without a mask it is causal, so all is visible by a mask."""
    if mask is None:
        mask = q.new_ones(q.shape[2], k.shape[2]).bool()
    return _run(q, k, v, mask)


def causal(q, k, v):
    """Without a mask."""
    return _run(q, k, v, None)


def capped(q, k, v, mask=None, softcap=3.0):
    """With a mask of True and False, as its own build_mask_cache makes it for a cache."""
    if mask is None:
        mask = q.new_ones(q.shape[2], k.shape[2]).bool()
    return _run(q, k, v, mask, float(softcap))


def capped_causal(q, k, v, softcap=3.0):
    """Without a mask, so causal."""
    return _run(q, k, v, None, float(softcap))


def rotate(x, positions):
    """[b h t d] and [b t], whose angles are those rows of its cache."""
    cos, sin = build_rope_cache(int(positions.max()) + 1, x.shape[-1])
    positions = positions if positions.ndim == 2 else positions[None]
    return apply_rope(x, cos[positions], sin[positions])
