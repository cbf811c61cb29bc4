"""Haiku."""

import haiku as hk
import jax.numpy as jnp


def attend(q, k, v, mask=None):
    """[b t h d], identity projections; True keeps."""
    (b, t, h, d), s, e = q.shape, k.shape[1], v.shape[-1]

    def forward(*given, mask):
        module = hk.MultiHeadAttention(h, d, with_bias=False, value_size=e, model_size=h * e, w_init=jnp.zeros)
        return module(*given, mask=mask)

    sizes = {"query": h * d, "key": h * d, "value": h * e, "linear": h * e}
    eyes = {f"multi_head_attention/{name}": {"w": jnp.eye(n, dtype=q.dtype)} for name, n in sizes.items()}
    mask = mask if mask is None else jnp.broadcast_to(mask, (b, *((1,) * (3 - mask.ndim + 1))[1:], t, s)[-4:])
    flat = q.reshape(b, t, -1), k.reshape(b, s, -1), v.reshape(b, s, -1)
    return hk.without_apply_rng(hk.transform(forward)).apply(eyes, *flat, mask=mask).reshape(b, t, h, e)
