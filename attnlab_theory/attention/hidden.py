"""What a mask hides: rows that see nothing, and numbers that nobody may read.

A hidden key has weight zero, and zero times NaN is NaN. So what is not finite is taken out of the products, and
every row that may see it is made NaN afterwards. What is hidden from a row is harmless to it, gradients included.
"""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import refuse_blind, refuse_mask

Blind = Literal["refuse", "zeros", "mean", "nan"]
"""What becomes of a row that sees nothing: an error; zeros; the mean of all values, also of those that are
hidden; NaN."""


def refuse_unknown(blind: Blind) -> None:
    """Refuse a word that is not one of the four in `Blind`.

    Raises:
        ValueError: naming the four words.

    Example:
        >>> refuse_unknown("zeros")
    """
    if blind not in get_args(Blind):
        raise ValueError(f"blind must be one of {', '.join(get_args(Blind))}, not {blind!r:.60}")


def visible(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    mask: Bool[Array, "t s"] | None,
    bias: Float[Array, "t s"] | None,
    blind: Blind = "refuse",
) -> Bool[Array, "t s"] | None:
    """Which keys a query sees: those that neither the mask hides nor a bias of minus infinity. None: all.

    Raises:
        ValueError: if `refuse_blind` refuses what mask and bias hide together, or `refuse_bias` refuses the bias.

    Example:
        A bias of minus infinity hides the second key from the first query.

        >>> x, bias = jnp.eye(2), jnp.array([[0.0, -jnp.inf], [0.0, 0.0]])
        >>> print(visible(x, x, None, bias).astype(int))
        [[1 0]
         [1 1]]
    """
    refuse_unknown(blind)
    refuse.wrong_rank(2, q=q, k=k)
    shape = q.shape[0], k.shape[0]
    refuse_mask(mask, *shape)
    if bias is not None:
        refuse_bias(bias, *shape)
        if not refuse.is_concrete(bias) or not np.all(np.isfinite(np.asarray(bias))):
            finite = bias != -jnp.inf
            mask = finite if mask is None else mask & finite
    if blind == "refuse":
        refuse_blind(mask, *shape)
    return mask


def refuse_bias(bias: Array, t: int, s: int) -> None:
    """Refuse a bias that cannot be added to the scores.

    Raises:
        ValueError: if the bias is not of a floating type, has the wrong shape, or holds NaN or +inf.

    Example:
        >>> refuse_bias(jnp.zeros((2, 3)), 2, 3)
        >>> refuse_bias(jnp.zeros((3, 2)), 2, 3)
        Traceback (most recent call last):
        ValueError: bias must have shape (2, 3) (queries, keys), not (3, 2)
    """
    refuse.not_floating(bias=bias)
    if bias.shape != (t, s):
        raise ValueError(f"bias must have shape {(t, s)} (queries, keys), not {bias.shape}")
    if refuse.is_concrete(bias):
        host = np.asarray(bias)
        wrong = np.argwhere(np.isnan(host) | (host == np.inf))
        if wrong.size:
            index = tuple(int(i) for i in wrong[0])
            raise ValueError(
                f"bias must be finite, or -inf where it hides, but holds {host[index]} at index {index}"
            )


def refuse_visible(mask: Bool[Array, "t s"] | None, blind: Blind = "refuse", **arrays: Array) -> None:
    """Refuse arrays, one row for each key, that hold NaN or an infinity where a query sees it.

    What is hidden from every query may be anything. Under a mask that cannot be read, such rows become NaN.

    Raises:
        ValueError: naming the array, the first offending index and the value there.

    Example:
        No query sees the second key, so its NaN is harmless.

        >>> refuse_visible(jnp.array([[True, False]]), k=jnp.array([[1.0], [jnp.nan]]))
    """
    if mask is None:
        refuse.non_finite(**arrays)
        return
    if not refuse.is_concrete(mask):
        return
    for name, array in arrays.items():
        if refuse.is_concrete(array) and not all_finite(array):
            seen = np.any(shown(mask, blind), axis=0, keepdims=True).T
            refuse.non_finite(**{name: np.where(seen, np.asarray(array), np.zeros((), array.dtype))})


def shown(mask: Bool[Array, "t s"], blind: Blind) -> Bool[np.ndarray, "t s"]:
    """Which values each row reads, on the host. A row that sees nothing reads all of them if it gives their mean.

    Example:
        >>> print(shown(jnp.array([[True, False], [False, False]]), "mean").astype(int))
        [[1 0]
         [1 1]]
    """
    seen = np.asarray(mask)
    return seen | ~seen.any(axis=1, keepdims=True) if blind == "mean" else seen


def without_infinities(x: Float[Array, "s c"]) -> Float[Array, "s c"]:
    """The array with zeros where it is not finite.

    Example:
        >>> print(without_infinities(jnp.array([[1.0, jnp.nan]])))
        [[1. 0.]]
    """
    return jnp.where(jnp.isfinite(x), x, 0)


def spoilt(x: Float[Array, "s c"]) -> Bool[Array, " s"] | None:
    """Which rows are not finite; None if the values can be read and all are finite.

    Example:
        >>> print(spoilt(jnp.array([[1.0], [jnp.inf]])), spoilt(jnp.zeros((2, 1))))
        [False  True] None
    """
    return None if all_finite(x) else ~jnp.all(jnp.isfinite(x), axis=1)


def lost_from_the_first(*arrays: Float[Array, "s _"]) -> Bool[Array, "s 1"]:
    """Which rows see something that is not finite, if each sees itself and all rows before it.

    Example:
        >>> print(lost_from_the_first(jnp.array([[1.0], [jnp.inf], [2.0]])).T)
        [[False  True  True]]
    """
    lost = sum(jnp.cumsum(~jnp.all(jnp.isfinite(x), axis=1)) for x in arrays)
    return jnp.asarray(lost)[:, None] > 0


@jax.custom_vjp
def made_nan(rows: Float[Array, "t c"], lost: Bool[Array, "t 1"]) -> Float[Array, "t c"]:
    """The rows, with NaN in place of those that are lost. So are their gradients, unless they are zero. Reverse
    mode only.

    Example:
        >>> print(made_nan(jnp.ones((2, 1)), jnp.array([[False], [True]])).T)
        [[ 1. nan]]
    """
    return jnp.where(lost, jnp.nan, rows)


made_nan.defvjp(
    lambda rows, lost: (made_nan(rows, lost), lost),
    lambda lost, slope: (jnp.where(lost & (slope != 0), jnp.nan, slope), None),
)


def blind_rows(mask: Bool[Array, "t s"], blind: Blind) -> Bool[Array, "t 1"] | None:
    """Which rows see nothing. None if the mask can be read and there is no such row, or if such rows are refused.

    Example:
        >>> print(blind_rows(jnp.array([[True, False], [False, False]]), "zeros").T)
        [[False  True]]
    """
    if blind == "refuse":
        return None
    found = ~jnp.any(mask, axis=1, keepdims=True)
    return None if refuse.is_concrete(found) and not np.any(np.asarray(found)) else found


def with_blind(rows: Float[Array, "t c"], found: Bool[Array, "t 1"] | None, blind: Blind) -> Float[Array, "t c"]:
    """Rows of weights or of means, with zeros or NaN in rows that see nothing if `blind` says so.

    Example:
        >>> print(with_blind(jnp.full((2, 2), 0.5), jnp.array([[False], [True]]), "zeros"))
        [[0.5 0.5]
         [0.  0. ]]
    """
    if found is None or blind in ("refuse", "mean"):
        return rows
    return jnp.where(found, 0.0 if blind == "zeros" else jnp.nan, rows)


def all_finite(x: Array) -> bool:
    """Whether the array can be read, and is finite.

    Example:
        >>> all_finite(jnp.array([1.0])), all_finite(jnp.array([jnp.nan]))
        (True, False)
    """
    return refuse.is_concrete(x) and bool(np.all(np.isfinite(np.asarray(x))))
