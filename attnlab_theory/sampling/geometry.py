"""Random orthonormal frames."""

import functools
import operator

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse


def orthonormal(key: PRNGKeyArray, n: int, d: int) -> Float[Array, "n d"]:
    """`n` orthonormal rows in d dimensions, Haar distributed.

    Args:
        key: a PRNG key, not to be used again.
        n: number of rows.
        d: width; at least n.

    Raises:
        ValueError: if n > d: that many orthonormal vectors do not fit; or if n or d is not a positive whole number.

    Example:
        Two rows in three dimensions: their products with themselves are 1, with each other 0.

        >>> import numpy as np
        >>> rows = orthonormal(jax.random.key(0), 2, 3)
        >>> rows.shape
        (2, 3)
        >>> print(np.abs(np.asarray(rows @ rows.T)).round(3))
        [[1. 0.]
         [0. 1.]]

    Source: Mezzadri 2007, "How to generate random matrices from the classical compact groups".
    """
    refuse.not_whole(n=n, d=d)
    if not 0 < n <= d:
        raise ValueError(f"{n} orthonormal vectors do not fit in {d} dimensions: need 0 < n <= d")
    return _haar(key, operator.index(n), operator.index(d))


@functools.partial(jax.jit, static_argnums=(1, 2))
def _haar(key: PRNGKeyArray, n: int, d: int) -> Float[Array, "n d"]:
    q, r = jnp.linalg.qr(jax.random.normal(key, (d, n)))
    # QR alone is not Haar: Householder fixes the signs of R's diagonal, and Q inherits that choice.
    return (q * jnp.sign(jnp.diagonal(r))[None, :]).T
