"""PyTorch on an accelerator: arrays come from the processor's memory and are moved; answers stay where they are."""

import contextlib
import os

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

DEVICE = torch.device("cuda")

KERNEL = os.environ.get("KERNEL", "")
"""The only kernel that may answer; by default torch chooses one for each call."""

HALF = KERNEL in ("FLASH_ATTENTION", "CUDNN_ATTENTION")
"""Whether it takes half precision alone: then float16 stays, and wider numbers become bfloat16."""


def _moved(*arrays):
    moved = [x if x is None else x.to(DEVICE) for x in arrays]
    kept = (None, torch.bool, torch.float16)
    return [x if not HALF or getattr(x, "dtype", None) in kept else x.to(torch.bfloat16) for x in moved]


def _attended(q, k, v, mask=None, **options):
    q, k, v, mask = _moved(q, k, v, mask)
    with sdpa_kernel(SDPBackend.__members__[KERNEL]) if KERNEL else contextlib.nullcontext():
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)


def sdpa(q, k, v, attn_mask=None, scale=None):
    """[b h t d]; True keeps."""
    return _attended(q, k, v, attn_mask, scale=scale)


def sdpa_unmasked(q, k, v, scale=None):
    """Without a mask, for a kernel that takes none."""
    return _attended(q, k, v, scale=scale)


def sdpa_causal(q, k, v, scale=None):
    """A mask and is_causal together are refused, as its documentation says."""
    return _attended(q, k, v, is_causal=True, scale=scale)


def sdpa_grouped(q, k, v, attn_mask=None, scale=None):
    """Fewer heads of keys."""
    return _attended(q, k, v, attn_mask, scale=scale, enable_gqa=True)


def sdpa_grouped_unmasked(q, k, v, scale=None):
    """Fewer heads of keys, without a mask."""
    return _attended(q, k, v, scale=scale, enable_gqa=True)


def sdpa_bias(q, k, v, bias, scale=None):
    """A float mask is added."""
    return _attended(q, k, v, bias, scale=scale)
