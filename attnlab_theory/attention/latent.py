"""Latent attention: the keys and values of all heads are made of one narrow row for each token, which is all a
cache keeps.

Scores can be had without keys: q . (A c) = (A^T q) . c. So A is absorbed into the query, and B into the output.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.heads import grouped_query_attention, multi_head_attention
from attnlab_theory.axes import Scalar


def latent_attention(
    q: Float[Array, "h t d"],
    latents: Float[Array, "s m"],
    to_keys: Float[Array, "h d m"],
    to_values: Float[Array, "h v m"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    absorbed: bool = False,
) -> Float[Array, "h t v"]:
    """Attention in every head by itself, over keys and values made of the same latent rows.

    Args:
        q: queries of each head.
        latents: one row for each source position.
        to_keys: of each head, from a latent row to its key.
        to_values: of each head, from a latent row to its value.
        mask: which keys a query may see.
        scale: inverse temperature, dimensionless.
        absorbed: whether no key and no value is made. The numbers are the same but for rounding.

    Raises:
        ValueError: if shapes disagree, or `attention` refuses the arguments.

    Example:
        Two heads read the two halves of a latent row. Queries of 0 give their means.

        >>> halves = jnp.array([[[1.0, 0.0]], [[0.0, 1.0]]])
        >>> c = jnp.array([[2.0, 0.0], [4.0, 8.0]])
        >>> print(latent_attention(jnp.zeros((2, 1, 1)), c, halves, halves, scale=1.0, absorbed=True).ravel())
        [3. 4.]

    Source: DeepSeek-AI 2024, section 2.1.
    """
    refuse.wrong_rank(3, q=q, to_keys=to_keys, to_values=to_values)
    refuse.wrong_rank(2, latents=latents)
    refuse.different_axes("heads", q=q.shape[0], to_keys=to_keys.shape[0], to_values=to_values.shape[0])
    widths = {"latents": latents.shape[1], "to_keys": to_keys.shape[2], "to_values": to_values.shape[2]}
    refuse.different_axes("latent coordinates", **widths)
    refuse.different_axes("coordinates of a key", q=q.shape[2], to_keys=to_keys.shape[1])
    if absorbed:
        asked = jnp.einsum("htd,hdm->htm", q, to_keys)
        read = grouped_query_attention(asked, latents[None], latents[None], mask, scale=scale)
        return jnp.einsum("htm,hvm->htv", read, to_values)
    k = jnp.einsum("hdm,sm->hsd", to_keys, latents)
    v = jnp.einsum("hvm,sm->hsv", to_values, latents)
    return multi_head_attention(q, k, v, mask, scale=scale)
