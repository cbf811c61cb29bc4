"""Random sketches: short mixtures of a long sequence."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse


def gaussian_sketch(key: PRNGKeyArray, r: int, n: int) -> Float[Array, "r n"]:
    """A matrix of independent N(0, 1/r): E[R^T R] is the identity of n dimensions.

    Args:
        key: a PRNG key, not to be used again.
        r: rows, the positions of the sketch.
        n: columns, the positions of the sequence.

    Raises:
        ValueError: if `r` or `n` is not a positive whole number.

    Example:
        A thousand rows for three positions: every entry of R^T R is within 0.2 of the identity's.

        >>> import numpy as np
        >>> r = gaussian_sketch(jax.random.key(0), 1000, 3)
        >>> bool(np.max(np.abs(r.T @ r - jnp.eye(3))) < 0.2)
        True

    Source: Wang et al. 2020, "Linformer", theorem 2; Johnson and Lindenstrauss 1984.
    """
    refuse.not_a_size(rows=r, columns=n)
    return jax.random.normal(key, (r, n)) / jnp.sqrt(jnp.asarray(r, jax.dtypes.canonicalize_dtype(float)))
