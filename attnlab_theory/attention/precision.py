"""Floating types: arrays of several of them in one program, and numbers rounded to a coarser one or to a grid."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from attnlab_theory import refuse


def of_one_type(*arrays: Array | None) -> tuple[Any, ...]:
    """The arrays in the type that their product would have. None stays None, and arrays of one type stay as they
    are.

    A derivative comes back in the type of its own array.

    Example:
        Half and single precision together become single, as their product would; None stays None.

        >>> with jax.numpy_dtype_promotion("standard"):
        ...     a, b, nothing = of_one_type(jnp.zeros(2, jnp.float16), jnp.zeros(2, jnp.float32), None)
        >>> print(a.dtype, b.dtype, nothing)
        float32 float32 None
    """
    given = [x for x in arrays if x is not None]
    if len({jax.dtypes.canonicalize_dtype(x.dtype) for x in given}) == 1:
        return arrays
    common = jnp.result_type(*given)
    return tuple(None if x is None else x.astype(common) for x in arrays)


def rounded(x: Float[Array, "..."], kind: DTypeLike) -> Float[Array, "..."]:
    """The numbers as a coarser floating type would store them, in their own type: to the nearest, ties to even.

    Args:
        x: numbers.
        kind: the coarser type: float16, bfloat16, or one of eight bits.

    Raises:
        ValueError: if `kind` is no floating type, or holds more digits than the numbers have.

    Example:
        The brain float has 8 binary digits: 257 is no number of it, and goes to the even neighbour.

        >>> print(rounded(jnp.array([1.0, 257.0, 258.0]), jnp.bfloat16))
        [  1. 256. 258.]
    """
    refuse.not_floating(x=x)
    if not jnp.issubdtype(kind, jnp.floating):
        raise ValueError(f"kind must be a floating type, not {jnp.dtype(kind)}: bfloat16, say")
    coarse, own = jnp.finfo(kind), jnp.finfo(x.dtype)
    if coarse.nmant > own.nmant:
        raise ValueError(f"{coarse.dtype} holds more digits than {own.dtype}: give x in a finer type")
    if coarse.bits >= 16:
        # XLA may leave out a cast and the cast back; this it may not.
        return jax.lax.reduce_precision(x, coarse.nexp, coarse.nmant)
    return jax.lax.optimization_barrier(x.astype(kind)).astype(x.dtype)


def quantise_absmax(x: Float[Array, "s d"], levels: int) -> Float[Array, "s d"]:
    """Each row rounded to whole multiples of its largest entry over `levels`: 127 for eight bits, 7 for four.

    Args:
        x: one row for each key or value.
        levels: how many multiples there are on either side of 0.

    Raises:
        ValueError: if there is no level, or x is not of a floating type or has not two axes.

    Example:
        The largest entry is 6, so the step is 2. The largest stays exact, and a row of zeros stays.

        >>> print(quantise_absmax(jnp.array([[6.0, 2.9, -1.2], [0.0, 0.0, 0.0]]), 3))
        [[ 6.  2. -2.]
         [ 0.  0.  0.]]
    """
    refuse.wrong_rank(2, x=x)
    refuse.not_floating(x=x)
    refuse.not_a_size(levels=levels)
    step = jnp.max(jnp.abs(x), axis=1, keepdims=True) / levels
    safe = jnp.where(step > 0, step, 1)
    return jnp.round(x / safe) * step


def to_nearest(x: Float[Array, "..."], grid: tuple[float, ...]) -> Float[Array, "..."]:
    """Each number replaced by the nearest of a grid in increasing order: the centroids of a quantiser, say.

    Raises:
        ValueError: if the grid is empty or out of order.

    Example:
        >>> print(to_nearest(jnp.array([-3.0, 0.2, 0.6]), (-1.0, 0.0, 1.0)))
        [-1.  0.  1.]
    """
    refuse.not_floating(x=x)
    if not grid or any(a >= b for a, b in itertools.pairwise(grid)):
        raise ValueError(f"a grid must increase and hold a number, not {grid}")
    points = jnp.asarray(grid, x.dtype)
    return points[jnp.searchsorted((points[1:] + points[:-1]) / 2, x)]
