"""Softmax attention: scores, weights, output."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import refuse_blind
from attnlab_theory.axes import Scalar


def attention_scores(
    q: Float[Array, "t d"], k: Float[Array, "s d"], mask: Bool[Array, "t s"] | None = None, *, scale: Scalar
) -> Float[Array, "t s"]:
    """Scaled dot products, minus infinity where a query may not look.

    Args, raises: as `attention_weights`.
    """
    refuse_inputs(q, k, scale)
    refuse_blind(mask, q.shape[0], k.shape[0])
    # Keys first: mapped over random keys, XLA would copy a second operand into another order, at four times the
    # cost of the product. A single large product is as fast either way.
    products = jnp.einsum("sd,td->st", refuse.nan_unless_finite(k), q).T
    scores = jnp.asarray(refuse.nan_unless_positive(scale), products.dtype) * products
    # Masking before the softmax keeps rows summing to one; masking after it leaks
    # the normaliser of the hidden positions into the visible ones.
    return scores if mask is None else jnp.where(mask, scores, -jnp.inf)


def attention_weights(
    q: Float[Array, "t d"], k: Float[Array, "s d"], mask: Bool[Array, "t s"] | None = None, *, scale: Scalar
) -> Float[Array, "t s"]:
    r"""Softmax attention weights, alpha = softmax(scale * q k^T).

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless. No default: the theory here is stated
            for scale = 1 and the GPT uses 1/sqrt(d); guessing hides the gap.

    Returns:
        Rows are probability vectors over source positions. A row with a score that overflows is NaN; one that
        overflows below the others has no weight. Under `jit`, where values cannot be read, a row is NaN too with a
        bad scale, if it sees nothing or if it sees a key that is not finite.

    Raises:
        ValueError: if `scale` is not positive and finite, there is no key, q and k differ in width, an
            array is not finite, not of a floating type or has not two axes, or the mask has the wrong
            shape or hides a whole row.

    Source: Vaswani et al. 2017, eq. (1).
    """
    return jax.nn.softmax(attention_scores(q, k, mask, scale=scale), axis=-1)


def attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
) -> Float[Array, "t v"]:
    """Softmax attention: every output row is the weighted mean of the values.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: as `attention_weights`; also if k and v differ in length, or v is not finite, not of a
            floating type or has not two axes.

    Source: Vaswani et al. 2017, eq. (1).
    """
    refuse_values(k, v)
    return jnp.einsum("ts,sv->tv", attention_weights(q, k, mask, scale=scale), v)


def refuse_inputs(q: Array, k: Array, scale: Scalar) -> None:
    """Refuse queries, keys and a scale that have no attention.

    Raises:
        ValueError: if `scale` is not positive and finite, there is no key, q and k differ in width, or an
            array is not finite, not of a floating type or has not two axes.
    """
    refuse.not_positive(scale=scale)
    refuse.wrong_rank(2, q=q, k=k)
    refuse.not_floating(q=q, k=k)
    refuse.different_axes("key width", q=q.shape[1], k=k.shape[1])
    if not k.shape[0]:
        raise ValueError(f"attention needs at least one key, but k has shape {k.shape}")
    refuse.non_finite(q=q, k=k, scale=scale)


def refuse_values(k: Array, v: Array) -> None:
    """Refuse values that do not belong to the keys, or that have no mean.

    Raises:
        ValueError: if k and v differ in length, or v is not finite, not of a floating type or has not two axes.
    """
    refuse.wrong_rank(2, k=k, v=v)
    refuse.not_floating(v=v)
    refuse.different_axes("source positions", k=k.shape[0], v=v.shape[0])
    refuse.non_finite(v=v)
