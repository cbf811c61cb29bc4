"""linear-attention-transformer."""

from linear_attention_transformer.linear_attention_transformer import linear_attn


def whole(q, k, v):
    """[b h t d]; its output is divided by the root of the width, which is undone here."""
    return linear_attn(q, k, v) * q.shape[-1] ** 0.5
