"""Keras. The variable KERAS_BACKEND says which backend computes."""

from keras import ops


def _four(x):
    return x if x is None else x.reshape((1,) * (4 - x.ndim) + tuple(x.shape))


def attend(q, k, v, mask=None, scale=None, is_causal=False):
    """[b t h d]; True keeps."""
    return ops.dot_product_attention(q, k, v, mask=_four(mask), scale=scale, is_causal=is_causal)


def biased(q, k, v, bias, mask=None):
    """With a bias [h t s] or [b h t s]."""
    return ops.dot_product_attention(q, k, v, bias=_four(bias), mask=_four(mask))


def biased_alone(q, k, v, bias):
    """Without a mask: torch's backend refuses both together."""
    return ops.dot_product_attention(q, k, v, bias=_four(bias))
