"""Diffusers: one Attention, three processors, projections that pick q, k and v."""

import functools

import torch
from diffusers.models.attention_processor import Attention, AttnProcessor, AttnProcessor2_0, SlicedAttnProcessor


@functools.cache
def _module(heads, width, kind, processor):
    size = heads * width
    module = Attention(size, 2 * size, heads=heads, dim_head=width, out_bias=False).to(kind).eval()
    eye, none = torch.eye(size, dtype=kind), torch.zeros(size, size, dtype=kind)
    with torch.no_grad():
        for part, weight in ((module.to_q, eye), (module.to_out[0], eye)):
            part.weight.copy_(weight)
        module.to_k.weight.copy_(torch.cat([eye, none], 1))
        module.to_v.weight.copy_(torch.cat([none, eye], 1))
    module.set_processor(SlicedAttnProcessor(1) if processor == "sliced" else processor())
    return module


def _run(processor, q, k, v, mask):
    b, h, _, d = q.shape
    if k.shape != v.shape:
        raise ValueError("values must be as wide as keys")
    if mask is not None:
        mask = mask.flatten(0, 1) if mask.ndim == 4 else mask.expand(b, *mask.shape[-2:])
    q, k, v = (x.transpose(1, 2).flatten(2) for x in (q, k, v))
    with torch.no_grad():
        out = _module(h, d, q.dtype, processor)(q, torch.cat([k, v], -1), attention_mask=mask)
    return out.unflatten(2, (h, d)).transpose(1, 2)


def plain(q, k, v, attention_mask=None):
    """AttnProcessor; numbers are added."""
    return _run(AttnProcessor, q, k, v, attention_mask)


def fused(q, k, v, attention_mask=None):
    """AttnProcessor2_0."""
    return _run(AttnProcessor2_0, q, k, v, attention_mask)


def sliced(q, k, v, attention_mask=None):
    """SlicedAttnProcessor."""
    return _run("sliced", q, k, v, attention_mask)
