"""MLX, on the processor."""

import mlx.core as mx
import numpy as np


def _attend(q, k, v, mask, scale):
    q, k, v = (mx.array(x) for x in (q, k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return np.array(mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask))


def attend(q, k, v, mask=None, scale=None):
    """[b h t d]; True keeps."""
    return _attend(q, k, v, None if mask is None else mx.array(mask), scale)


def causal(q, k, v, scale=None):
    """The mask is a word or an array, so not both."""
    return _attend(q, k, v, "causal", scale)


def biased(q, k, v, bias, scale=None):
    """An array of numbers is added."""
    return _attend(q, k, v, mx.array(bias), scale)
