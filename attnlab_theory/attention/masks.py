"""Which source positions a query may look at: True = may look."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from attnlab_theory import refuse


def causal_mask(t: int) -> Bool[Array, "t s"]:
    """The mask under which position t sees positions 0..t.

    Raises:
        ValueError: if `t` is not a positive whole number.
    """
    refuse.not_whole(positions=t)
    if not t > 0:
        raise ValueError(f"a causal mask needs at least one position, not {t}")
    return jnp.tril(jnp.ones((t, t), dtype=bool))


def refuse_blind(mask: Bool[Array, "t s"] | None, t: int, s: int) -> None:
    """Refuse a mask that is not boolean or of the wrong shape, or one under which a query sees nothing.

    Raises:
        ValueError: with the dtype or the shape that is needed, or the first query that sees nothing.
    """
    if mask is None:
        return
    # A mask to be added (0 and -inf) would be read the wrong way round, and NaN as True.
    if mask.dtype != bool:
        raise ValueError(f"mask must be boolean, True where a query may look, not {mask.dtype}")
    if mask.shape != (t, s):
        raise ValueError(f"mask must have shape {(t, s)} (queries, keys), not {mask.shape}")
    if refuse.is_concrete(mask):
        blind = np.flatnonzero(~np.asarray(mask).any(axis=1))
        if blind.size:
            raise ValueError(f"mask hides every key from query {blind[0]}: a softmax over nothing has no value")
