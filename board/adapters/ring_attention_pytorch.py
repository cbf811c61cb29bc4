"""ring-attention-pytorch: its attention on one device."""

from ring_attention_pytorch.ring_attention import default_attention
from ring_attention_pytorch.ring_flash_attention import ring_flash_attn


def plain(q, k, v):
    """[b t h d]; its masks are of keys alone."""
    return default_attention(q, k, v)


def causal(q, k, v):
    """With causal."""
    return default_attention(q, k, v, causal=True)


def capped(q, k, v, softcap=3.0):
    """With softclamp_qk_sim."""
    return default_attention(q, k, v, softclamp_qk_sim=True, softclamp_value=float(softcap))


def flash(q, k, v):
    """In buckets of 16, on one device."""
    return ring_flash_attn(q, k, v, bucket_size=16)


def flash_causal(q, k, v):
    """In buckets of 16, on one device."""
    return ring_flash_attn(q, k, v, causal=True, bucket_size=16)
