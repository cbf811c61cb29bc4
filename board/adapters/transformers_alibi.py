"""Transformers: the biases of its models with ALiBi, of one sequence without padding."""

import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom_alibi
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_alibi
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor


def bloom(heads, length):
    """Biases [h 1 s] of a model in float32."""
    return bloom_alibi(torch.ones(1, length), heads, torch.float32)


def bloom_bfloat16(heads, length):
    """Biases of a model in bfloat16, as Bloom is published."""
    return bloom_alibi(torch.ones(1, length), heads, torch.bfloat16)


def falcon(heads, length):
    """Biases [h 1 s] of a model in float32."""
    return falcon_alibi(torch.ones(1, length, dtype=torch.long), heads, torch.float32)


def mpt(heads, length):
    """Its biases count from the last key: [h 1 s]."""
    return build_mpt_alibi_tensor(heads, length)
