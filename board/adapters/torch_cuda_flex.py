"""PyTorch's flex_attention on an accelerator, compiled to Triton."""

import functools

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

DEVICE = torch.device("cuda")


@functools.cache
def _compiled():
    return torch.compile(flex_attention, dynamic=True)


def flex(q, k, v, mask=None, scale=None):
    """Compiled to Triton. The mask is a mask_mod."""
    return _flex(q, k, v, mask, scale=scale)


def flex_causal(q, k, v, mask=None, scale=None):
    """The mask_mod of its documentation: q_idx >= kv_idx."""
    return _flex(q, k, v, mask, lambda i, j: i >= j, scale=scale)


def flex_grouped(q, k, v, mask=None, scale=None):
    """Fewer heads of keys."""
    return _flex(q, k, v, mask, scale=scale, enable_gqa=True)


def _flex(q, k, v, mask, more=None, **options):
    q, k, v, mask = (x if x is None else x.to(DEVICE) for x in (q, k, v, mask))
    if mask is None and more is None:
        return _compiled()(q, k, v, **options)

    sizes = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    # A device does not refuse an index beyond an axis of length one: it ends everything.
    mask = mask if mask is None else mask.expand(sizes)

    def keeps(b, h, i, j):
        kept = more(i, j) if more else i >= 0
        return kept if mask is None else kept & mask[b, h, i, j]

    return _compiled()(q, k, v, block_mask=create_block_mask(keeps, *sizes, device=DEVICE), **options)
