"""Room 1: arrays to arrays, exactly. No PRNG keys, no configuration."""

from attnlab_theory.attention.blocked import blocked_attention
from attnlab_theory.attention.heads import averaged_heads, merge_heads, multi_head_attention, split_heads
from attnlab_theory.attention.masks import causal_mask
from attnlab_theory.attention.positions import (
    half_layout_order,
    rotary,
    rotary_by_complex,
    rotation_matrix,
    sinusoidal,
)
from attnlab_theory.attention.softmax import attention, attention_scores, attention_weights
from attnlab_theory.attention.variants import zero_after_softmax, zero_after_softmax_weights

__all__ = [
    "attention",
    "attention_scores",
    "attention_weights",
    "averaged_heads",
    "blocked_attention",
    "causal_mask",
    "half_layout_order",
    "merge_heads",
    "multi_head_attention",
    "rotary",
    "rotary_by_complex",
    "rotation_matrix",
    "sinusoidal",
    "split_heads",
    "zero_after_softmax",
    "zero_after_softmax_weights",
]
