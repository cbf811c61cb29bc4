"""x-transformers."""

import functools

from x_transformers.attend import Attend
from x_transformers.x_transformers import AlibiPositionalBias


@functools.cache
def _attend(**options):
    return Attend(**options).eval()


def _four(mask):
    return mask if mask is None else mask[(None,) * (4 - mask.ndim)]


def plain(q, k, v, mask=None):
    """[b h t d]; True keeps."""
    return _attend()(q, k, v, mask=_four(mask))[0]


def causal(q, k, v, mask=None):
    """With its own causal mask."""
    return _attend(causal=True)(q, k, v, mask=_four(mask))[0]


def capped(q, k, v, mask=None, softcap=3.0):
    """With softclamp_logits."""
    return _attend(softclamp_logits=True, logit_softclamp_value=softcap)(q, k, v, mask=_four(mask))[0]


def biased(q, k, v, bias, mask=None):
    """attn_bias [h t s]."""
    return _attend()(q, k, v, mask=_four(mask), attn_bias=bias)[0]


def flash(q, k, v, mask=None):
    """By torch's kernels."""
    return _attend(flash=True)(q, k, v, mask=_wide(q, k, mask))[0]


def flash_causal(q, k, v, mask=None):
    """By torch's kernels, with its own causal mask."""
    return _attend(flash=True, causal=True)(q, k, v, mask=_wide(q, k, mask))[0]


def flash_biased(q, k, v, bias, mask=None):
    """By torch's kernels."""
    return _attend(flash=True)(q, k, v, mask=_wide(q, k, mask), attn_bias=bias)[0]


def _wide(q, k, mask):
    return mask if mask is None else _four(mask).expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])


@functools.cache
def _positions(heads):
    return AlibiPositionalBias(heads)


def alibi(heads, queries, keys):
    """AlibiPositionalBias: [h t s]."""
    return _positions(heads)(queries, keys)
