"""JAX on an accelerator. It computes on the default device, which moves the arrays."""

import functools

import jax
import jax.numpy as jnp
from jax.nn import dot_product_attention

assert jax.default_backend() == "gpu", "jax sees no CUDA device"


def attend(q, k, v, mask=None, bias=None, scale=None, is_causal=False):
    """[b t h d]; True keeps. Compiled by XLA."""
    return _attended("xla", q, k, v, mask, bias, scale, is_causal)


def cudnn(q, k, v, mask=None, scale=None, is_causal=False):
    """By the flash attention of cuDNN, which takes half precision alone: wider numbers become bfloat16."""
    q, k, v = (x if x.dtype == jnp.float16 else x.astype(jnp.bfloat16) for x in (q, k, v))
    return _attended("cudnn", q, k, v, mask, None, scale, is_causal)


def windowed(q, k, v, mask=None, window=4):
    """A window of w keys back."""
    return dot_product_attention(q, k, v, mask=_four(mask), local_window_size=(window, 0))


def _four(mask):
    return mask if mask is None else jnp.broadcast_to(mask, (1,) * (4 - mask.ndim) + mask.shape)


def _attended(by, q, k, v, mask, bias, scale, is_causal):
    bias = bias if bias is None or bias.ndim == 4 else bias[None]
    call = functools.partial(dot_product_attention, scale=scale, is_causal=is_causal, implementation=by)
    return call(q, k, v, bias=bias, mask=_four(mask))
