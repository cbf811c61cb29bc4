"""Softmax attention: scores, weights, output."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import (
    Blind,
    all_finite,
    blind_rows,
    refuse_unknown,
    refuse_visible,
    spoilt,
    visible,
    with_blind,
    without_infinities,
)
from attnlab_theory.axes import Scalar


def attention_scores(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | None = None,
    blind: Blind = "refuse",
) -> Float[Array, "t s"]:
    """Scaled dot products, minus infinity where a query may not look.

    A row that sees nothing is refused, or else it is minus infinity throughout.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.
        softcap: scores are kept below this in size. None keeps them as they are.
        bias: added to the scores.
        blind: what becomes of a row that sees nothing.

    Raises:
        ValueError: if `attention_weights` refuses the arguments.

    Example:
        Each token is its own query and key: e1, e2 and 0. A query meets its own key with product 1, times the
        scale.

        >>> x = jnp.eye(3, 2)
        >>> print(attention_scores(x, x, scale=2.0))
        [[2. 0. 0.]
         [0. 2. 0.]
         [0. 0. 0.]]
        >>> print(attention_scores(x, x, jnp.tri(3, dtype=bool), scale=2.0))
        [[  2. -inf -inf]
         [  0.   2. -inf]
         [  0.   0.   0.]]
    """
    mask = visible(q, k, mask, bias, blind)
    return masked_scores(q, k, mask, scale, softcap, bias)


def attention_weights(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | None = None,
    blind: Blind = "refuse",
    sink: Scalar | None = None,
) -> Float[Array, "t s"]:
    r"""Softmax attention weights, alpha = softmax(scale * q k^T).

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless. There is no default, because the theory here is for scale = 1 and
            the GPT uses 1/sqrt(d).
        softcap: c in c tanh(score / c), taken before the bias and the mask: no score exceeds it. None: no limit.
        bias: added to the scores, a float mask for instance; minus infinity hides a key as the mask does. It is
            rounded to the type of the scores.
        blind: what becomes of a row that sees nothing. "refuse" is an error, and NaN under `jit`. Else the weights
            are zeros, or NaN, or equal for all keys. "mean" then reads what the mask hides: a causal row whose past
            is padding reads its future.
        sink: the score of one more key, which every query sees and whose weight is dropped. None: no such key.
            With a sink no row is blind: one that the mask hides whole gives the sink everything.

    Returns:
        Rows are probability vectors over source positions; with a sink they sum to less than one. A row with a
        score that overflows to +inf is NaN. A score that overflows to -inf has no weight. Under `jit`, where values
        cannot be read, a row is also NaN if the scale is bad, if it sees nothing, or if it sees a key that is not
        finite. XLA takes entries below the smallest normal number for 0 there. Half precision rounds weights below
        6e-8 (float16) to 0.

    Raises:
        ValueError: if `scale` is not positive or is more than `largest_scale`. Or if there is no key, or q and k
            differ in width. Or if an array is not finite, not of a floating type or has not two axes. Or if the
            mask has the wrong shape or hides a whole row. Or if entries below the smallest normal number would
            decide a score. Or if the cap is not positive and finite, the bias has another shape or holds NaN or
            +inf, or `blind` is none of its four words. Or if the sink is not finite. Keys that are not finite are
            refused where a query sees them.

    Example:
        At scale log 2 a score of 1 doubles the weight: 2 to 1 to 1. The last query is 0 and sees all keys alike.

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(attention_weights(x, x, scale=np.log(2))).round(2))
        [[0.5  0.25 0.25]
         [0.25 0.5  0.25]
         [0.33 0.33 0.33]]

        Under a causal mask the first query sees one key only.

        >>> print(np.asarray(attention_weights(x, x, jnp.tri(3, dtype=bool), scale=np.log(2))).round(2))
        [[1.   0.   0.  ]
         [0.33 0.67 0.  ]
         [0.33 0.33 0.33]]

        A sink of score 0 takes as much as any key that the last query sees.

        >>> print(np.asarray(attention_weights(x, x, scale=np.log(2), sink=0.0)).round(2)[2])
        [0.25 0.25 0.25]

    Source: Vaswani et al. 2017, eq. (1); Gemma Team 2024, "Gemma 2", section 2 for the cap; Miller 2023 for the
    sink.
    """
    blind = _beside(sink, blind)
    mask = visible(q, k, mask, bias, blind)
    scores = masked_scores(q, k, mask, scale, softcap, bias)
    if sink is None:
        return softmax(scores, mask, blind)
    return softmax(*with_sink(scores, mask, sink))[:, :-1]


def attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    *,
    scale: Scalar,
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | None = None,
    blind: Blind = "refuse",
    sink: Scalar | None = None,
) -> Float[Array, "t v"]:
    """Softmax attention: every output row is the weighted mean of the values.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        scale: inverse temperature, dimensionless.
        softcap: c in c tanh(score / c), taken before the bias and the mask. None: no limit.
        bias: added to the scores, a float mask for instance; minus infinity hides a key as the mask does.
        blind: what becomes of a row that sees nothing: an error, zeros, the mean of all values, or NaN.
        sink: the score of one more key, which every query sees and whose value is 0. None: no such key.

    Returns:
        One row per query. Keys and values that the mask hides from a query may be NaN or infinite: its row and all
        gradients stay as they are. Under `jit`, such a number makes the whole row NaN if the query sees it.

    Raises:
        ValueError: if `attention_weights` refuses the arguments; also if k and v differ in length, or v is not
            finite where a query sees it, not of a floating type or has not two axes.

    Example:
        The first query gives the keys the weights 1/2, 1/4, 1/4 (`attention_weights`). The values are e1, e2 and 0,
        so its output is (1/2, 1/4).

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(attention(x, x, x, scale=np.log(2))).round(2))
        [[0.5  0.25]
         [0.25 0.5 ]
         [0.33 0.33]]

    Source: Vaswani et al. 2017, eq. (1).
    """
    blind = _beside(sink, blind)
    mask = visible(q, k, mask, bias, blind)
    refuse_values(k, v, mask, blind)
    scores = masked_scores(q, k, mask, scale, softcap, bias)
    if sink is not None:
        scores, mask = with_sink(scores, mask, sink)
        v = jnp.concatenate([v, jnp.zeros_like(v[:1])])
    return weighted_mean(scores, v, mask, blind)


def _beside(sink: Scalar | None, blind: Blind) -> Blind:
    """What becomes of a row whose keys are all hidden: beside a sink it says nothing, and is not refused."""
    refuse_unknown(blind)
    return blind if sink is None else "zeros"


def with_sink(
    scores: Float[Array, "t s"], mask: Bool[Array, "t s"] | None, sink: Scalar
) -> tuple[Float[Array, "t s+1"], Bool[Array, "t s+1"] | None]:
    """The scores and the mask with one more key, which every query sees with the score `sink`.

    Raises:
        ValueError: if the sink is not finite.

    Example:
        >>> scores, mask = with_sink(jnp.zeros((1, 2)), None, 3.0)
        >>> print(scores, mask)
        [[0. 0. 3.]] None
    """
    refuse.non_finite(sink=sink)
    column = jnp.broadcast_to(jnp.asarray(sink, scores.dtype), (scores.shape[0], 1))
    seen = None if mask is None else jnp.concatenate([mask, jnp.ones_like(mask[:, :1])], axis=1)
    return jnp.concatenate([scores, column], axis=1), seen


def masked_scores(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None,
    scale: Scalar,
    softcap: Scalar | None = None,
    bias: Float[Array, "t s"] | None = None,
) -> Float[Array, "t s"]:
    """The scores, minus infinity where the mask hides a key, NaN where a query sees one that is not finite.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look. It may hide whole rows.
        scale: inverse temperature, dimensionless.
        softcap: c in c tanh(score / c), taken before the bias and the mask. None: no limit.
        bias: added to the scores.

    Example:
        >>> x = jnp.eye(2)
        >>> print(masked_scores(x, x, jnp.array([[True, False], [False, False]]), 1.0))
        [[  1. -inf]
         [-inf -inf]]
    """
    refuse_inputs(q, k, scale, mask)
    most = largest_scale(jnp.result_type(q, k))
    lost = None if mask is None else spoilt(k)
    keys = refuse.nan_unless_finite(k) if lost is None else without_infinities(k)
    # Keys first: mapped over random keys, XLA would copy a second operand into another order, at four times the
    # cost of the product. A single large product is as fast either way.
    products = jnp.einsum("sd,td->st", keys, q).T
    scores = jnp.asarray(refuse.nan_unless_positive(scale, most=most), products.dtype) * products
    if softcap is not None:
        refuse.not_positive(softcap=softcap)
        refuse.non_finite(softcap=softcap)
        cap = jnp.asarray(refuse.nan_unless_positive(softcap), scores.dtype)
        scores = cap * jnp.tanh(scores / cap)
    if bias is not None:
        scores += bias.astype(scores.dtype)
    if mask is None:
        return scores
    # Masking before the softmax keeps rows summing to one; masking after it leaks
    # the normaliser of the hidden positions into the visible ones.
    if lost is None:
        return jnp.where(mask, scores, -jnp.inf)
    return jnp.where(mask & ~lost[None, :], scores, jnp.where(mask, jnp.nan, -jnp.inf).astype(scores.dtype))


def softmax(
    scores: Float[Array, "t s"], mask: Bool[Array, "t s"] | None = None, blind: Blind = "refuse"
) -> Float[Array, "t s"]:
    """Rows of weights. In half precision only the weights are rounded: float16 cannot sum 65,536 powers of size
    one.

    Args:
        scores: one row per query; minus infinity where it may not look.
        mask: True where a query may look. None lets every query see every key.
        blind: what becomes of a row that sees nothing.

    Example:
        Weights are powers of e over their sum: the scores log 2, 0, 0 give 2, 1, 1 parts of 4.

        >>> scores = np.log(2) * jnp.eye(3)
        >>> print(np.asarray(softmax(scores)).round(2))
        [[0.5  0.25 0.25]
         [0.25 0.5  0.25]
         [0.25 0.25 0.5 ]]
    """
    found = None if mask is None else blind_rows(mask, blind)
    scores = scores if found is None else jnp.where(found, 0, scores)
    if scores.dtype.itemsize >= 4:
        return with_blind(jax.nn.softmax(scores, axis=-1), found, blind)
    powers, normaliser = _powers(scores)
    return with_blind((powers.astype(normaliser.dtype) / normaliser).astype(scores.dtype), found, blind)


def weighted_mean(
    scores: Float[Array, "t s"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"] | None = None,
    blind: Blind = "refuse",
) -> Float[Array, "t v"]:
    """The mean of the values under `softmax`. Half precision sums in float32 and divides last.

    Under a mask, values that are not finite count as zeros, and rows that see one are NaN.

    Args:
        scores: one row per query; minus infinity where it may not look.
        v: values, one row per source position.
        mask: True where a query may look. None lets every query see every key.
        blind: what becomes of a row that sees nothing.

    Example:
        Equal scores give the mean of all values. A score of minus infinity takes a value out: the last row is the
        mean of the first two.

        >>> scores = jnp.array([[0.0, 0, 0], [5, 5, 5], [0, 0, -jnp.inf]])
        >>> v = jnp.array([[3.0, 0], [0, 3], [0, 0]])
        >>> print(np.asarray(weighted_mean(scores, v)).round(2))
        [[1.  1. ]
         [1.  1. ]
         [1.5 1.5]]
    """
    if mask is None:
        return _mean(scores, v)
    found, lost = blind_rows(mask, blind), spoilt(v)
    scores = scores if found is None else jnp.where(found, 0, scores)
    o = _mean(scores, v if lost is None else without_infinities(v))
    if lost is not None:
        seen = mask if found is None or blind != "mean" else mask | found
        # Rows are multiplied by NaN and not replaced by it, so that their gradients are NaN too.
        o = o * jnp.where(jnp.any(seen & lost[None, :], axis=1, keepdims=True), jnp.nan, 1.0).astype(o.dtype)
    return with_blind(o, found, blind)


def _mean(scores: Float[Array, "t s"], v: Float[Array, "s v"]) -> Float[Array, "t v"]:
    if scores.dtype.itemsize >= 4:
        return jnp.einsum("ts,sv->tv", softmax(scores), v)
    powers, normaliser = _powers(scores)
    wide = v.dtype if v.dtype.itemsize >= 4 else normaliser.dtype
    sums = jnp.einsum("ts,sv->tv", powers, v, preferred_element_type=wide)
    return (sums / normaliser.astype(wide)).astype(jnp.result_type(scores, v))


def _powers(scores: Array) -> tuple[Array, Array]:
    """exp(score - the row's largest) in the scores' own type, and its sums in float32."""
    powers = jnp.exp(scores - lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True)))
    return powers, jnp.sum(powers, axis=-1, keepdims=True, dtype=jnp.float32)


@functools.cache
def largest_scale(dtype: DTypeLike) -> float:
    """The largest scale of a type: beyond it, products that are rounded to 0 would matter.

    Args:
        dtype: a floating type.

    Example:
        The rounding of float32 over its smallest normal number.

        >>> print(f"{largest_scale(jnp.float32):.3g}")
        1.01e+31
    """
    info = jnp.finfo(dtype)
    return float(info.eps) / _smallest(dtype)


@functools.cache
def _smallest(dtype: DTypeLike) -> float:
    """The least number that XLA tells from 0: only in float16 does it keep subnormal numbers."""
    info = jnp.finfo(dtype)
    return float(info.smallest_subnormal if info.dtype == jnp.float16 else info.tiny)


def refuse_inputs(q: Array, k: Array, scale: Scalar, mask: Array | None = None) -> None:
    """Refuse queries, keys and a scale for which attention is not defined.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `scale` is not positive or is more than `largest_scale`. Or if there is no key, or q and k
            differ in width. Or if an array is not finite, not of a floating type or has not two axes. Or if entries
            below the smallest normal number would decide a score.

    Example:
        Good inputs pass; a negative scale is refused.

        >>> x = jnp.eye(3, 2)
        >>> refuse_inputs(x, x, 1.0)
        >>> refuse_inputs(x, x, -1.0)
        Traceback (most recent call last):
            ...
        ValueError: scale must be positive, not -1.0
    """
    refuse.not_positive(scale=scale)
    refuse.wrong_rank(2, q=q, k=k)
    refuse.not_floating(q=q, k=k)
    refuse.different_axes("key width", q=q.shape[1], k=k.shape[1])
    if not k.shape[0]:
        raise ValueError(f"attention needs at least one key, but k has shape {k.shape}")
    refuse.non_finite(q=q)
    refuse_visible(mask, k=k)
    refuse.non_finite(scale=scale)
    if not refuse.is_concrete(scale):
        return
    kind = jnp.result_type(q, k)
    if float(scale) > largest_scale(kind):
        raise ValueError(
            f"scale must be at most {largest_scale(kind):.3g} in {kind}, not {scale}: products below "
            f"{_smallest(kind):.3g} are 0 before it multiplies them; scale q or k up instead"
        )
    if refuse.is_concrete(q) and refuse.is_concrete(k):
        _refuse_lost(q, k if all_finite(k) else without_infinities(k), float(scale))


def _refuse_lost(q: Array, k: Array, scale: float) -> None:
    """Refuse entries that XLA takes for 0 although, times the largest entry of the other side, they would
    matter."""
    kind = jnp.result_type(q, k)
    smallest, rounding = _smallest(kind), largest_scale(kind) * _smallest(kind)
    sides = {"q": np.asarray(q), "k": np.asarray(k)}
    # Not the largest of np.abs, which would be a copy.
    peaks = {name: max(float(np.max(x, initial=0)), -float(np.min(x, initial=0))) for name, x in sides.items()}
    for (name, side), other in zip(sides.items(), ("k", "q"), strict=True):
        if smallest * peaks[other] * scale * side.shape[1] < rounding:
            continue
        lost = (side != 0) & (np.abs(side) < smallest)
        if np.any(lost):
            index = tuple(int(i) for i in np.argwhere(lost)[0])
            raise ValueError(
                f"{name} holds {side[index]} at index {index}, which XLA takes for 0, beside entries of {other} of "
                f"up to {peaks[other]:.3g}: scale {name} up and {other} down"
            )


def refuse_values(k: Array, v: Array, mask: Array | None = None, blind: Blind = "refuse") -> None:
    """Refuse values that do not fit the keys, or that have no mean.

    Args:
        k: keys, one row per source position.
        v: values, one row per source position.

    Raises:
        ValueError: if k and v differ in length, or v is not finite, not of a floating type or has not two axes.

    Example:
        Three keys need three values.

        >>> k = jnp.eye(3, 2)
        >>> refuse_values(k, jnp.eye(3, 2))
        >>> refuse_values(k, jnp.eye(2, 2))
        Traceback (most recent call last):
            ...
        ValueError: source positions must agree: k has 3, v has 2
    """
    refuse.wrong_rank(2, k=k, v=v)
    refuse.not_floating(v=v)
    refuse.different_axes("source positions", k=k.shape[0], v=v.shape[0])
    refuse_visible(mask, blind, v=v)
