"""Stick-breaking attention: a token offers its unit of weight to one past token after the other, the last first."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import causal_mask
from attnlab_theory.attention.sigmoid import summed
from attnlab_theory.attention.softmax import masked_scores, refuse_values
from attnlab_theory.axes import Scalar


def stick_breaking_weights(q: Float[Array, "t d"], k: Float[Array, "t d"], *, scale: Scalar) -> Float[Array, "t t"]:
    """Weights sigma(z_ts) prod_{s < r < t} (1 - sigma(z_tr)) of the past tokens s < t, z the scaled products.

    Each past token keeps the share sigma(z) of what the tokens between it and the query have left over.

    Args:
        q: queries, one row per token.
        k: keys, one row per token.
        scale: inverse temperature, dimensionless.

    Returns:
        A row sums to less than one; what is left over goes to nobody. The first row is zeros. Nobody weighs itself.

    Raises:
        ValueError: if `attention_weights` refuses the arguments, or q and k differ in length.

    Example:
        Scores of 0: each past token takes half of what is left.

        >>> print(stick_breaking_weights(jnp.zeros((4, 1)), jnp.zeros((4, 1)), scale=1.0))
        [[0.    0.    0.    0.   ]
         [0.5   0.    0.    0.   ]
         [0.25  0.5   0.    0.   ]
         [0.125 0.25  0.5   0.   ]]

    Source: Tan et al. 2024, section 2.
    """
    refuse.different_axes("tokens", q=q.shape[0], k=k.shape[0])
    past = causal_mask(q.shape[0]) & ~jnp.eye(q.shape[0], dtype=bool)
    scores = masked_scores(q, k, None, scale)
    # Logarithms: a product of many small shares would underflow, and its gradient with it.
    left = jnp.where(past, jax.nn.log_sigmoid(-scores), 0)
    later = jnp.cumsum(left[:, ::-1], axis=1)[:, ::-1]
    between = jnp.concatenate([later[:, 1:], jnp.zeros_like(later[:, :1])], axis=1)
    return jnp.where(past, jnp.exp(jax.nn.log_sigmoid(scores) + between), 0)


def stick_breaking_attention(
    q: Float[Array, "t d"], k: Float[Array, "t d"], v: Float[Array, "t v"], *, scale: Scalar
) -> Float[Array, "t v"]:
    """Sums of the past values under `stick_breaking_weights`.

    Raises:
        ValueError: if `stick_breaking_weights` refuses the arguments, or `attention` the values.

    Example:
        The third token takes half of the second value and a quarter of the first.

        >>> x, v = jnp.zeros((3, 1)), jnp.array([[4.0], [8.0], [100.0]])
        >>> print(stick_breaking_attention(x, x, v, scale=1.0).T)
        [[0. 2. 5.]]

    Source: Tan et al. 2024, section 2.
    """
    refuse_values(k, v)
    return summed(stick_breaking_weights(q, k, scale=scale), v, None)
