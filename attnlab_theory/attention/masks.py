"""Which source positions a query may look at: True = may look."""

import jax.numpy as jnp
from jaxtyping import Array, Bool


def causal_mask(t: int) -> Bool[Array, "t s"]:
    """The mask under which position t sees positions 0..t.

    Raises:
        ValueError: if `t` is not positive.
    """
    if not t > 0:
        raise ValueError(f"a causal mask needs at least one position, not {t}")
    return jnp.tril(jnp.ones((t, t), dtype=bool))
