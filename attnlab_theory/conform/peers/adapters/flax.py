"""Flax."""

import jax.numpy as jnp
from flax import linen, nnx


def _four(mask):
    return mask if mask is None else jnp.broadcast_to(mask, (1,) * (4 - mask.ndim) + mask.shape)


def of_linen(q, k, v, mask=None):
    """[b t h d]; True keeps."""
    return linen.dot_product_attention(q, k, v, mask=_four(mask))


def of_linen_bias(q, k, v, bias, mask=None):
    """With a bias [h t s]."""
    return linen.dot_product_attention(q, k, v, bias=bias[None], mask=_four(mask))


def of_nnx(q, k, v, mask=None, is_causal=False):
    """[b t h d]; True keeps."""
    return nnx.dot_product_attention(q, k, v, mask=_four(mask), is_causal=is_causal)


def of_nnx_bias(q, k, v, bias, mask=None):
    """With a bias [h t s]."""
    return nnx.dot_product_attention(q, k, v, bias=bias[None], mask=_four(mask))
