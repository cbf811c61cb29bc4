"""Checks of arguments: a bad value gets one clear line, never a plausible number.

Shapes are always known and always checked. Values are checked when they are concrete. Under `jit` or `vmap` they
cannot be read: there a bad number becomes NaN.
"""

import numbers
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array

from attnlab_theory.axes import Scalar


def is_concrete(value: object) -> bool:
    """Whether a value can be read now: it is not a tracer of jax."""
    return not isinstance(value, Tracer)


def non_finite(**arrays: ArrayLike) -> None:
    """Refuse arrays that hold NaN or an infinity.

    Raises:
        ValueError: naming the array, the first offending index and the value there.
    """
    for name, array in arrays.items():
        if not is_concrete(array):
            continue
        host = np.asarray(array)
        if not np.all(np.isfinite(host)):
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(host))[0])
            where = f" at index {index}" if index else ""
            raise ValueError(f"{name} must be finite, but holds {host[index]}{where}")


def not_positive(**given: Scalar) -> None:
    """Refuse concrete numbers that are not greater than zero. NaN and what is not a single number are refused too.

    Raises:
        ValueError: naming the number and its value.
    """
    for name, number in given.items():
        not_one_real(**{name: number})
        if is_concrete(number) and not number > 0:
            raise ValueError(f"{name} must be positive, not {number}")


def not_a_boolean(**given: Any) -> None:
    """Refuse what is neither True nor False.

    Raises:
        ValueError: naming what was given.
    """
    for name, value in given.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, not {value!r:.60}")


def not_a_seed(seed: Any) -> None:
    """Refuse what cannot be the seed of a run.

    Raises:
        ValueError: if it is not a whole number, is negative or does not fit in 63 bits.
    """
    not_whole(seed=seed)
    if not 0 <= operator.index(seed) < 2**63:
        raise ValueError(f"seed must be between 0 and 2**63 - 1, not {operator.index(seed)}")


def not_one_real(**given: Any) -> None:
    """Refuse what is not a single real number, plain or traced; True and False count as none.

    Raises:
        ValueError: naming what was given.
    """
    for name, number in given.items():
        if not _is_real(number):
            raise ValueError(f"{name} must be one real number, not {number!r}")


def _is_real(number: object) -> bool:
    """Whether this is one real number, plain or a (traced) array without axes."""
    if isinstance(number, jax.Array | np.ndarray):
        return number.ndim == 0 and (
            jnp.issubdtype(number.dtype, jnp.floating) or jnp.issubdtype(number.dtype, jnp.integer)
        )
    return isinstance(number, numbers.Real) and not isinstance(number, bool)


def not_whole(**given: Any) -> None:
    """Refuse what is not a whole number; True and False count as none.

    Raises:
        ValueError: naming the number and its value.
    """
    for name, number in given.items():
        if is_boolean(number) or not _is_index(number):
            raise ValueError(f"{name} must be a whole number, not {number!r}")


def not_a_size(**given: Any) -> None:
    """Refuse what is not a positive whole number.

    Raises:
        ValueError: naming the number and its value.
    """
    for name, number in given.items():
        not_whole(**{name: number})
        if not number > 0:
            raise ValueError(f"{name} must be positive, not {number}")


def _is_index(number: Any) -> bool:
    try:
        operator.index(number)
    except TypeError:
        return False
    return True


def is_boolean(value: object) -> bool:
    """Whether this is a truth value, which Python would take for the number 0 or 1."""
    return isinstance(value, bool) or (
        isinstance(value, jax.Array | np.generic | np.ndarray) and value.dtype == bool
    )


def negative(**numbers: Scalar) -> None:
    """Refuse concrete numbers below zero, NaN included.

    Raises:
        ValueError: naming the number and its value.
    """
    for name, number in numbers.items():
        if is_concrete(number) and not number >= 0:
            raise ValueError(f"{name} must not be negative, but is {number}")


def nan_unless_positive(number: Scalar, *, most: float = np.inf) -> Scalar:
    """The number itself, or NaN if a traced number is not positive, not finite or greater than `most`.

    A traced value cannot raise. NaN spreads to the output, where a wrong plausible number would not be seen.
    """
    if is_concrete(number):
        return number
    # A bound that the number's own type does not hold is none.
    kind = jnp.result_type(number)
    holds = jnp.issubdtype(kind, jnp.floating) and most <= float(jnp.finfo(kind).max)
    below = number <= most if holds else number < jnp.inf
    return jnp.where((number > 0) & below, number, jnp.nan)


def nan_unless_finite(array: Array) -> Array:
    """The array itself. If it is traced, NaN replaces its infinities: a key of -inf would get weight 0, not NaN."""
    return array if is_concrete(array) else jnp.where(jnp.isfinite(array), array, jnp.nan)


def different_axes(axis: str, **sizes: int) -> None:
    """Refuse arrays that disagree on the length of one axis.

    Raises:
        ValueError: naming the axis and every size.
    """
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"{axis} must agree: {listed}")


def wrong_rank(rank: int, **arrays: ArrayLike) -> None:
    """Refuse arrays that do not have exactly `rank` axes.

    Raises:
        ValueError: naming the array and its shape.
    """
    for name, array in arrays.items():
        if np.ndim(array) != rank:
            raise ValueError(f"{name} must have {rank} axes, but has shape {np.shape(array)}")


def not_floating(**arrays: ArrayLike) -> None:
    """Refuse arrays that hold no floating-point numbers. A scale that is cast to integers would become zero.

    Raises:
        ValueError: naming the array and its type.
    """
    for name, array in arrays.items():
        kind = jnp.result_type(array)
        if not jnp.issubdtype(kind, jnp.floating):
            raise ValueError(f"{name} must hold floating-point numbers, not {kind}")


def not_real(**arrays: ArrayLike) -> None:
    """Refuse arrays that hold neither floating-point nor whole numbers. A cast would drop an imaginary part.

    Raises:
        ValueError: naming the array and its type.
    """
    for name, array in arrays.items():
        kind = array.dtype if isinstance(array, jax.Array) else np.asarray(array).dtype
        if not (jnp.issubdtype(kind, jnp.floating) or jnp.issubdtype(kind, jnp.integer)):
            raise ValueError(f"{name} must hold real numbers, not {kind}")
