"""Which source positions a query may look at: True = may look."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from attnlab_theory import refuse


def causal_mask(queries: int, keys: int | None = None) -> Bool[Array, "t s"]:
    """The mask under which each position sees itself and those before it; queries are the last of the keys.

    New tokens stand at the end of the keys that a cache holds: of 2 queries and 5 keys, query 0 is position 3 and
    sees keys 0 to 3. A triangle cut from the upper left corner would let it see key 0 alone.

    Args:
        queries: how many positions ask.
        keys: how many positions there are in all; by default as many, and position t sees positions 0..t.

    Raises:
        ValueError: if a number is not a positive whole number, or there are fewer keys than queries.

    Example:
        Each position sees itself and what came before it.

        >>> print(causal_mask(3).astype(int))
        [[1 0 0]
         [1 1 0]
         [1 1 1]]

        One new token after two that a cache holds sees all three.

        >>> print(causal_mask(1, 3).astype(int))
        [[1 1 1]]
    """
    keys = queries if keys is None else keys
    refuse.not_whole(positions=queries, keys=keys)
    if not queries > 0:
        raise ValueError(f"a causal mask needs at least one position, not {queries}")
    if keys < queries:
        raise ValueError(f"{queries} queries are positions among the keys, and there are only {keys} of those")
    return jnp.tril(jnp.ones((queries, keys), dtype=bool), keys - queries)


def refuse_blind(mask: Bool[Array, "t s"] | None, t: int, s: int) -> None:
    """Refuse a mask that is not boolean or of the wrong shape, or one under which a query sees nothing.

    Args:
        mask: True where a query may look; None passes.
        t: number of queries.
        s: number of keys.

    Raises:
        ValueError: with the dtype or the shape that is needed, or the first query that sees nothing.

    Example:
        A good mask passes in silence. One that hides everything does not.

        >>> refuse_blind(causal_mask(3), 3, 3)
        >>> refuse_blind(jnp.zeros((3, 3), bool), 3, 3)
        Traceback (most recent call last):
            ...
        ValueError: mask hides every key from query 0: a softmax over nothing has no value
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
