"""PyTorch."""

import functools

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention


def sdpa(q, k, v, attn_mask=None, scale=None):
    """[b h t d]; True keeps."""
    return scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, scale=scale)


def sdpa_causal(q, k, v, scale=None):
    """A mask and is_causal together are refused, as its documentation says."""
    return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)


def sdpa_grouped(q, k, v, attn_mask=None, scale=None):
    """Fewer heads of keys."""
    return scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, scale=scale, enable_gqa=True)


def sdpa_bias(q, k, v, bias, scale=None):
    """A float mask is added."""
    return scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)


@functools.cache
def _identity(heads, width, kind):
    module = torch.nn.MultiheadAttention(heads * width, heads, bias=False, batch_first=True, dtype=kind)
    with torch.no_grad():
        eye = torch.eye(heads * width, dtype=kind)
        module.in_proj_weight.copy_(torch.cat([eye, eye, eye]))
        module.out_proj.weight.copy_(eye)
    return module


def _mha(q, k, v, attn_mask, training, **options):
    _, h, _, d = q.shape
    module = _identity(h, d, q.dtype).train(training)
    if attn_mask is not None and attn_mask.ndim == 4:
        attn_mask = attn_mask.flatten(0, 1)
    q, k, v = (x.transpose(1, 2).flatten(2) for x in (q, k, v))
    out, weights = module(q, k, v, attn_mask=attn_mask, average_attn_weights=False, **options)
    out = out.unflatten(2, (h, d)).transpose(1, 2)
    return out if weights is None else (out, weights)


def mha_evaluated(q, k, v, attn_mask=None):
    """Identity projections, evaluation, without gradients."""
    with torch.no_grad():
        return _mha(q, k, v, attn_mask, False, need_weights=False)


def mha_weights(q, k, v, attn_mask=None):
    """Identity projections, evaluation, weights asked for."""
    with torch.no_grad():
        return _mha(q, k, v, attn_mask, False, need_weights=True)


def mha_training(q, k, v, attn_mask=None):
    """Identity projections, training (dropout 0), with gradients."""
    return _mha(q.clone().requires_grad_(), k, v, attn_mask, True, need_weights=False)


@functools.cache
def _picking(heads, width, kind):
    """Projections that pick q, k and v out of what holds the three side by side, for each head."""
    size = 3 * heads * width
    module = torch.nn.MultiheadAttention(size, heads, batch_first=True, dtype=kind).eval()
    rows = torch.eye(size, dtype=kind).view(heads, 3, width, size)
    with torch.no_grad():
        parts = [torch.cat([rows[:, i], torch.zeros(heads, 2 * width, size)], 1).flatten(0, 1) for i in range(3)]
        module.in_proj_weight.copy_(torch.cat(parts))
        module.in_proj_bias.zero_()
        module.out_proj.weight.copy_(torch.eye(size))
        module.out_proj.bias.zero_()
    return module


def mha_fast(q, k, v, attn_mask=None):
    """Self-attention, evaluation, no gradients: the fast path, if the number of heads is even."""
    (_, h, t, d), s = q.shape, k.shape[2]
    n = max(t, s)
    # Of thrice the width, whose root divides the scores.
    q, k, v = (torch.nn.functional.pad(x, (0, 0, 0, n - x.shape[2])) for x in (q * 3**0.5, k, v))
    x = torch.cat([q, k, v], -1).transpose(1, 2).flatten(2)
    if attn_mask is not None or n > s:
        given = torch.zeros(t, s, dtype=torch.bool) if attn_mask is None else attn_mask
        drops = torch.nn.functional.pad(given, (0, n - s), value=True)
        attn_mask = torch.nn.functional.pad(drops, (0, 0, 0, n - t), value=False)
        attn_mask = attn_mask.flatten(0, 1) if attn_mask.ndim == 4 else attn_mask
    with torch.no_grad():
        out, _ = _picking(h, d, q.dtype)(x, x, x, attn_mask=attn_mask, need_weights=False)
    return out.unflatten(2, (h, 3 * d))[:, :t, :, :d].transpose(1, 2)


def flex(q, k, v, mask=None, scale=None):
    """Not compiled. The mask is a mask_mod."""
    return _flex(q, k, v, mask, scale=scale)


def flex_causal(q, k, v, mask=None, scale=None):
    """The mask_mod of its documentation: q_idx >= kv_idx."""
    return _flex(q, k, v, mask, lambda i, j: i >= j, scale=scale)


def flex_grouped(q, k, v, mask=None, scale=None):
    """Fewer heads of keys."""
    return _flex(q, k, v, mask, scale=scale, enable_gqa=True)


def flex_window(q, k, v, mask=None, window=4):
    """The sliding window of its documentation."""
    return _flex(q, k, v, mask, lambda i, j: (i >= j) & (i - j <= window))


def flex_softcap(q, k, v, mask=None, softcap=3.0):
    """The soft cap of its documentation."""
    return _flex(q, k, v, mask, score_mod=lambda s, b, h, i, j: softcap * torch.tanh(s / softcap))


def flex_bias(q, k, v, bias, mask=None):
    """Numbers [h t s] or [b h t s]."""
    bias = bias.expand(len(q), *bias.shape[-3:])
    return _flex(q, k, v, mask, score_mod=lambda s, b, h, i, j: s + bias[b, h, i, j])


def _flex(q, k, v, mask, more=None, **options):
    if mask is None and more is None:
        return flex_attention(q, k, v, **options)

    def keeps(b, h, i, j):
        kept = more(i, j) if more else i >= 0
        return kept if mask is None else kept & (mask[i, j] if mask.ndim == 2 else mask[b, h, i, j])

    sizes = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    return flex_attention(q, k, v, block_mask=create_block_mask(keeps, *sizes, device="cpu"), **options)
