"""Transformers: the rotation of Llama, with its own table of angles."""

import functools

from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb


@functools.cache
def _table(width):
    return LlamaRotaryEmbedding(LlamaConfig(head_dim=width))


def llama(q, k, positions):
    """[b h t d] and [b t]."""
    positions = positions if positions.ndim == 2 else positions[None]
    return apply_rotary_pos_emb(q, k, *_table(q.shape[-1])(q, positions))
