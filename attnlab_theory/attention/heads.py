"""Several heads: plain attention under `vmap`, the two reshapes around it, and the homework's mean of heads."""

from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import Blind, all_finite, shown, visible
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
    mask: Bool[Array, "t s"] | Bool[Array, "h t s"] | None = None,
    *,
    scale: Scalar,
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | Float[Array, "h t s"] | None = None,
    blind: Blind = "refuse",
) -> Float[Array, "h t v"]:
    """Attention in every head by itself, under one mask or one for each.

    Args:
        q: queries, by head.
        k: keys, by head.
        v: values, by head.
        mask: True where a query may look, the same for all heads or by head.
        scale: inverse temperature, dimensionless, the same for all heads.
        softcap: c in c tanh(score / c), taken before the bias and the mask. None: no limit.
        bias: added to the scores, the same for all heads or by head; minus infinity hides a key as the mask does.
        blind: what becomes of a row that sees nothing: an error, zeros, the mean of all values, or NaN.

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
    return grouped_query_attention(q, k, v, mask, scale=scale, softcap=softcap, bias=bias, blind=blind)


GroupOrder = Literal["consecutive", "strided"]
"""Which of h heads of queries share the keys of group i of g. consecutive: i h/g to (i + 1) h/g - 1, as in Llama
and in most libraries. strided: i, i + g, i + 2 g, …, as in x-transformers."""


def grouped_query_attention(
    q: Float[Array, "h t d"],
    k: Float[Array, "g s d"],
    v: Float[Array, "g s v"],
    mask: Bool[Array, "t s"] | Bool[Array, "h t s"] | None = None,
    *,
    scale: Scalar,
    order: GroupOrder = "consecutive",
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | Float[Array, "h t s"] | None = None,
    blind: Blind = "refuse",
) -> Float[Array, "h t v"]:
    """Attention in every head by itself, where several heads of queries share one head of keys and values.

    With one group it is multi-query attention, with as many groups as heads it is `multi_head_attention`.

    >>> q, k = jnp.ones((4, 3, 2)), jnp.ones((2, 3, 2))
    >>> grouped_query_attention(q, k, k, scale=0.5).shape
    (4, 3, 2)

    Args:
        q: queries, by head.
        k: keys, by group.
        v: values, by group.
        mask: True where a query may look, the same for all heads or by head of queries.
        scale: inverse temperature, dimensionless.
        order: which heads share a group.
        softcap: c in c tanh(score / c), taken before the bias and the mask. None: no limit.
        bias: added to the scores, the same for all heads or by head of queries; minus infinity hides a key.
        blind: what becomes of a row that sees nothing: an error, zeros, the mean of all values, or NaN.

    Raises:
        ValueError: if `attention` refuses the arguments; also if an array has not three axes, the groups do not
            divide the heads, or the order is unknown.

    Source: Ainslie et al. 2023, "GQA", section 2.2; Shazeer 2019, "Fast transformer decoding", section 3.
    """
    refuse.wrong_rank(3, q=q, k=k, v=v)
    if order not in get_args(GroupOrder):
        raise ValueError(f"order must be one of {', '.join(get_args(GroupOrder))}, not {order!r:.60}")
    h, g = q.shape[0], k.shape[0]
    refuse.different_axes("groups", k=g, v=v.shape[0])
    if not g or h % g:
        raise ValueError(f"{h} heads of queries cannot share {g} heads of keys equally")
    masks, biases = _by_head("mask", mask, h), _by_head("bias", bias, h)
    # Under vmap `attention` cannot read these values, so they are read here.
    refuse.non_finite(q=q)
    _refuse_seen(q, k, v, mask, bias, order, blind)

    def one_head(q: Array, k: Array, v: Array, mask: Array | None, bias: Array | None) -> Array:
        return attention(q, k, v, mask, scale=scale, softcap=softcap, bias=bias, blind=blind)

    axes = tuple(None if x is None or x.ndim == 2 else 0 for x in (masks, biases))
    if h == g:
        return jax.vmap(one_head, (0, 0, 0, *axes))(q, k, v, masks, biases)
    masks, biases = (
        x if axis is None else _in_groups(x, g, order) for x, axis in zip((masks, biases), axes, strict=True)
    )
    of_group = jax.vmap(one_head, (0, None, None, *axes))
    rows = jax.vmap(of_group, (0, 0, 0, *axes))(_in_groups(q, g, order), k, v, masks, biases)
    rows = rows if order == "consecutive" else rows.swapaxes(0, 1)
    return rows.reshape(h, *rows.shape[2:])


def _by_head(name: str, x: Array | None, h: int) -> Array | None:
    if x is not None and x.ndim == 3:
        refuse.different_axes("heads", q=h, **{name: x.shape[0]})
    return x


def _in_groups(x: Any, g: int, order: GroupOrder) -> Any:
    """An array with one entry for each head of queries, [h ...], arranged by groups: [g h/g ...]."""
    if order == "consecutive":
        return x.reshape(g, -1, *x.shape[1:])
    return x.reshape(-1, g, *x.shape[1:]).swapaxes(0, 1)


def _of_head(x: Array | None, head: int) -> Array | None:
    return x if x is None or x.ndim == 2 else x[head]


def _refuse_seen(
    q: Array, k: Array, v: Array, mask: Array | None, bias: Array | None, order: GroupOrder, blind: Blind
) -> None:
    """Refuse keys and values that are not finite where a head sees them, and what `visible` refuses in any head."""
    if not (refuse.is_concrete(mask) and refuse.is_concrete(bias)):
        return
    of_heads = any(x is not None and x.ndim == 3 for x in (mask, bias))
    seen = [
        visible(q[i], k[0], _of_head(mask, i), _of_head(bias, i), blind)
        for i in range(q.shape[0] if of_heads else 1)
    ]
    masks = [each for each in seen if each is not None]
    if len(masks) < len(seen):
        refuse.non_finite(k=k, v=v)
        return
    keys = np.stack([shown(each, blind).any(axis=0) for each in masks])
    keys = _in_groups(keys, k.shape[0], order).any(axis=1) if of_heads else keys
    for name, x in {"k": k, "v": v}.items():
        if refuse.is_concrete(x) and not all_finite(x) and x.shape[1] == keys.shape[1]:
            refuse.non_finite(**{name: np.where(keys[:, :, None], np.asarray(x), np.zeros((), x.dtype))})


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
