"""Several heads: plain attention under `vmap`, the two reshapes around it, and the homework's mean of heads."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.softmax import attention
from attnlab_theory.axes import Scalar


def split_heads(x: Float[Array, "t c"], h: int) -> Float[Array, "h t d"]:
    """Cut the width into `h` heads: head i gets columns i*d to (i+1)*d, where d = width / h.

    Args:
        x: tokens, one row per position, c numbers wide.
        h: number of heads.

    Raises:
        ValueError: if `h` is not positive or does not divide the width.

    Example:
        Two heads of width 1: the first gets the left column, the second the right one.

        >>> x = jnp.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
        >>> print(split_heads(x, 2)[:, :, 0])
        [[ 1.  2.  3.]
         [10. 20. 30.]]

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    refuse.wrong_rank(2, x=x)
    refuse.not_whole(heads=h)
    if not h > 0 or x.shape[1] % h:
        raise ValueError(f"a width of {x.shape[1]} cannot be cut into {h} heads of equal width")
    return jnp.swapaxes(x.reshape(x.shape[0], h, x.shape[1] // h), 0, 1)


def merge_heads(x: Float[Array, "h t d"]) -> Float[Array, "t c"]:
    """Lay the heads side by side again: undoes `split_heads`.

    Args:
        x: tokens by head.

    Raises:
        ValueError: if `x` has not three axes.

    Example:
        The columns stand where they stood before `split_heads`.

        >>> x = jnp.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
        >>> print(merge_heads(split_heads(x, 2)))
        [[ 1. 10.]
         [ 2. 20.]
         [ 3. 30.]]
    """
    refuse.wrong_rank(3, x=x)
    return jnp.swapaxes(x, 0, 1).reshape(x.shape[1], x.shape[0] * x.shape[2])


def multi_head_attention(
    q: Float[Array, "h t d"],
    k: Float[Array, "h s d"],
    v: Float[Array, "h s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
) -> Float[Array, "h t v"]:
    """Attention in every head by itself, under one mask.

    Args:
        q: queries, by head.
        k: keys, by head.
        v: values, by head.
        mask: True where a query may look, the same for all heads.
        scale: inverse temperature, dimensionless, the same for all heads.

    Raises:
        ValueError: if `attention` refuses the arguments; also if an array has not three axes or they differ in
            heads.

    Example:
        Two heads of width 1. The left one has weights of 2 to 1 to 1 for its first token; the right one has queries
        of 0 and takes the mean of its values.

        >>> x = jnp.array([[[1.0], [0.0], [0.0]], [[0.0], [0.0], [0.0]]])
        >>> v = jnp.array([[[4.0], [0.0], [0.0]], [[3.0], [0.0], [0.0]]])
        >>> print(np.asarray(multi_head_attention(x, x, v, scale=np.log(2))).round(2)[:, :, 0])
        [[2.   1.33 1.33]
         [1.   1.   1.  ]]

    Source: Vaswani et al. 2017, section 3.2.2, without the projections.
    """
    refuse.wrong_rank(3, q=q, k=k, v=v)
    refuse.different_axes("heads", q=q.shape[0], k=k.shape[0], v=v.shape[0])
    # Under vmap `attention` cannot read these values, so they are read here; the mask it can.
    refuse.non_finite(q=q, k=k, v=v)

    def one_head(q, k, v):
        return attention(q, k, v, mask, scale=scale)

    return jax.vmap(one_head)(q, k, v)


def averaged_heads(
    q: Float[Array, "h d"], k: Float[Array, "s d"], v: Float[Array, "s v"], *, scale: Scalar
) -> Float[Array, " v"]:
    """The homework's multi-head attention: `h` queries look at the same keys, and their outputs are averaged.

    Args:
        q: one query per head.
        k: keys, shared by all heads: one draw of a noisy key is seen by every head.
        v: values, shared by all heads.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `attention` refuses the arguments; also if there is no head.

    Example:
        Each head copies one value, for its query is 100 times one key. Their mean is half of each.

        >>> k = v = jnp.eye(3, 2)
        >>> print(averaged_heads(100 * jnp.eye(2), k, v, scale=1.0))
        [0.5 0.5]

    Source: Stanford CS224n assignment 5, question 1(d).
    """
    refuse.wrong_rank(2, q=q)
    if not q.shape[0]:
        raise ValueError(f"a mean of heads needs at least one head, but q has shape {q.shape}")
    return jnp.mean(attention(q, k, v, scale=scale), axis=0)
