"""Differential attention: one softmax map minus a multiple of another, over the same keys and values."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.sigmoid import summed
from attnlab_theory.attention.softmax import attention_weights, refuse_values
from attnlab_theory.axes import Scalar


def differential_weights(
    q1: Float[Array, "t d"],
    q2: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    lam: Scalar,
    scale: Scalar,
) -> Float[Array, "t s"]:
    """Weights softmax(scale * q1 k^T) - lam * softmax(scale * q2 k^T), which sum to 1 - lam and may be negative.

    A second projection of the keys is a second half of their coordinates, in which the first queries are 0.

    Args:
        q1: queries of the first map, one row per output position.
        q2: queries of the second map.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        lam: lambda, by which the second map is multiplied; not negative.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `attention_weights` refuses the arguments, the queries differ in shape, or lam is negative or
            not finite.

    Example:
        The second map is even. What all keys share is gone at lam = 1.

        >>> import numpy as np
        >>> x = jnp.eye(2)
        >>> print(np.asarray(differential_weights(x, 0 * x, x, lam=1.0, scale=np.log(3))).round(2))
        [[ 0.25 -0.25]
         [-0.25  0.25]]

    Source: Ye et al. 2024, eq. (1), without the norm of each head and its factor.
    """
    refuse.different_axes("queries", q1=q1.shape[0], q2=q2.shape[0])
    refuse.negative(lam=lam)
    refuse.non_finite(lam=lam)
    first, second = (attention_weights(q, k, mask, scale=scale) for q in (q1, q2))
    return first - jnp.asarray(lam, first.dtype) * second


def differential_attention(
    q1: Float[Array, "t d"],
    q2: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    lam: Scalar,
    scale: Scalar,
) -> Float[Array, "t v"]:
    """Sums of the values under `differential_weights`.

    Raises:
        ValueError: if `differential_weights` refuses the arguments, or `attention` the values.

    Example:
        Weights 1/4 and -1/4 of the values 8 and 4.

        >>> import numpy as np
        >>> x, v = jnp.eye(2), jnp.array([[8.0], [4.0]])
        >>> o = differential_attention(x[:1], 0 * x[:1], x, v, lam=1.0, scale=np.log(3))
        >>> print(np.asarray(o).round(3))
        [[1.]]

    Source: Ye et al. 2024, eq. (1), without the norm of each head and its factor.
    """
    refuse_values(k, v, mask)
    return summed(differential_weights(q1, q2, k, mask, lam=lam, scale=scale), v, mask)


def normed(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """The rows at the length sqrt(d), as by an RMS norm without a gain: QK-norm, if done to queries and keys.

    A row of zeros stays.

    Example:
        >>> print(normed(jnp.array([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]])))
        [[1.2 0.  1.6 0. ]
         [0.  0.  0.  0. ]]

    Source: Henry et al. 2020, with sqrt(d) in the place of the learned scale.
    """
    length = jnp.linalg.norm(x, axis=1, keepdims=True)
    return x * jnp.where(
        length > 0, jnp.sqrt(jnp.asarray(x.shape[1], x.dtype)) / jnp.where(length > 0, length, 1), 0
    )
