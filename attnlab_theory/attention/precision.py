"""Arrays of several floating types in programs that carry a state: a loop's state cannot change its type."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


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
