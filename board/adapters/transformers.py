"""Transformers: the functions that its models call."""

import types

from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as gemma2_eager
from transformers.models.llama.modeling_llama import eager_attention_forward as llama_eager


def _layer(q, k):
    layer = types.SimpleNamespace(training=False, is_causal=True)
    layer.num_key_value_groups = q.shape[1] // k.shape[1]
    layer.head_dim = q.shape[-1]
    return layer


def _four(mask):
    return mask if mask is None else mask[(None,) * (4 - mask.ndim)]


def eager(q, k, v, attention_mask=None, scaling=None):
    """Llama's: [b h t d]; numbers are added."""
    scaling = q.shape[-1] ** -0.5 if scaling is None else scaling
    out, weights = llama_eager(_layer(q, k), q, k, v, _four(attention_mask), scaling)
    return out.transpose(1, 2), weights


def eager_bias(q, k, v, bias):
    """Numbers that are added."""
    return eager(q, k, v, bias)


def eager_capped(q, k, v, attention_mask=None, softcap=3.0):
    """That of Gemma 2."""
    out, weights = gemma2_eager(
        _layer(q, k), q, k, v, _four(attention_mask), scaling=q.shape[-1] ** -0.5, softcap=softcap
    )
    return out.transpose(1, 2), weights


def _sdpa(q, k, v, mask, causal, **more):
    return sdpa_attention_forward(_layer(q, k), q, k, v, _four(mask), is_causal=causal, **more)[0].transpose(1, 2)


def sdpa(q, k, v, attention_mask=None, scaling=None):
    """[b h t d]; True keeps."""
    return _sdpa(q, k, v, attention_mask, False, scaling=scaling)


def sdpa_causal(q, k, v, scaling=None):
    """Without a mask: is_causal counts only then."""
    return _sdpa(q, k, v, None, True, scaling=scaling)


def sdpa_bias(q, k, v, bias):
    """position_bias [1 h t s] or [b h t s]."""
    return _sdpa(q, k, v, None, False, position_bias=_four(bias))
