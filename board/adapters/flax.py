"""Flax."""

import jax.numpy as jnp
from flax import linen, nnx


def _four(x):
    return x if x is None else jnp.broadcast_to(x, (1,) * (4 - x.ndim) + x.shape)


def of_linen(q, k, v, mask=None):
    """[b t h d]; True keeps."""
    return linen.dot_product_attention(q, k, v, mask=_four(mask))


def of_linen_bias(q, k, v, bias, mask=None):
    """With a bias [h t s] or [b h t s]."""
    return linen.dot_product_attention(q, k, v, bias=_four(bias), mask=_four(mask))


def of_nnx(q, k, v, mask=None, is_causal=False):
    """[b t h d]; True keeps."""
    return nnx.dot_product_attention(q, k, v, mask=_four(mask), is_causal=is_causal)


def of_nnx_bias(q, k, v, bias, mask=None):
    """With a bias [h t s] or [b h t s]."""
    return nnx.dot_product_attention(q, k, v, bias=_four(bias), mask=_four(mask))
