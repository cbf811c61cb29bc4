"""Attention of sigmoids: each key is weighed by itself, and no sum divides the output."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import spoilt, visible, without_infinities
from attnlab_theory.attention.softmax import masked_scores, refuse_values
from attnlab_theory.axes import Scalar


def sigmoid_weights(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    shift: Scalar,
) -> Float[Array, "t s"]:
    """Weights sigma(scale * q k^T + shift), and 0 where a query may not look.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.
        shift: added to every score. The authors take minus the logarithm of the number of keys.

    Returns:
        Weights between 0 and 1. A row may sum to any number up to that of the keys. It is zeros where a query sees
        nothing.

    Raises:
        ValueError: if `attention_weights` refuses the arguments, or the shift is not finite.

    Example:
        Scores of log 3 and 0, without a shift: sigma(log 3) = 3/4, sigma(0) = 1/2.

        >>> import numpy as np
        >>> x = jnp.eye(2)
        >>> print(np.asarray(sigmoid_weights(x, x, scale=np.log(3), shift=0.0)).round(2))
        [[0.75 0.5 ]
         [0.5  0.75]]

    Source: Ramapuram et al. 2024, section 3.
    """
    refuse.non_finite(shift=shift)
    mask = visible(q, k, mask, None, "zeros")
    scores = masked_scores(q, k, mask, scale)
    return jax.nn.sigmoid(scores + jnp.asarray(shift, scores.dtype))


def sigmoid_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    shift: Scalar,
) -> Float[Array, "t v"]:
    """Sums of the values under `sigmoid_weights`.

    Raises:
        ValueError: if `sigmoid_weights` refuses the arguments, or `attention` the values.

    Example:
        Weights 3/4 and 1/2 of the values 4 and 8.

        >>> import numpy as np
        >>> x = jnp.eye(2)
        >>> o = sigmoid_attention(x[:1], x, jnp.array([[4.0], [8.0]]), scale=np.log(3), shift=0.0)
        >>> print(np.asarray(o).round(3))
        [[7.]]

    Source: Ramapuram et al. 2024, section 3.
    """
    refuse_values(k, v, mask, "zeros")
    return summed(sigmoid_weights(q, k, mask, scale=scale, shift=shift), v, mask)


def summed(
    weights: Float[Array, "t s"], v: Float[Array, "s v"], mask: Bool[Array, "t s"] | None
) -> Float[Array, "t v"]:
    """The sums of the values under weights; NaN where a query sees a value that is not finite.

    Example:
        A hidden value may be anything.

        >>> hides = jnp.array([[True, False]])
        >>> print(summed(jnp.array([[2.0, 0.0]]), jnp.array([[1.5], [jnp.nan]]), hides))
        [[3.]]
    """
    lost = spoilt(v)
    if lost is None:
        return jnp.einsum("ts,sv->tv", weights, v)
    sees = jnp.any(lost[None, :] if mask is None else mask & lost[None, :], axis=1, keepdims=True)
    return jnp.einsum("ts,sv->tv", weights, without_infinities(v)) * jnp.where(sees, jnp.nan, 1.0).astype(v.dtype)
