"""Room 1: arrays to arrays, exactly. No PRNG keys, no configuration."""

from attnlab_theory.attention.masks import causal_mask
from attnlab_theory.attention.softmax import attention, attention_scores, attention_weights

__all__ = ["attention", "attention_scores", "attention_weights", "causal_mask"]
