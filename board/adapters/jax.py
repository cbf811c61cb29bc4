"""JAX."""

import jax.numpy as jnp
from jax.nn import dot_product_attention


def attend(q, k, v, mask=None, bias=None, scale=None, is_causal=False):
    """[b t h d]; True keeps."""
    mask = mask if mask is None else jnp.broadcast_to(mask, (1,) * (4 - mask.ndim) + mask.shape)
    bias = bias if bias is None or bias.ndim == 4 else bias[None]
    return dot_product_attention(q, k, v, bias=bias, mask=mask, scale=scale, is_causal=is_causal)


def windowed(q, k, v, mask=None, window=4):
    """A window of w keys back."""
    mask = mask if mask is None else jnp.broadcast_to(mask, (1,) * (4 - mask.ndim) + mask.shape)
    return dot_product_attention(q, k, v, mask=mask, local_window_size=(window, 0))
