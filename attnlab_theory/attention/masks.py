"""Which source positions a query may look at: True = may look."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

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
        raise ValueError(f"the {queries} queries are the last of the keys, but there are only {keys} keys")
    return jnp.tril(jnp.ones((queries, keys), dtype=bool), keys - queries)


def top_k_mask(scores: Float[Array, "t s"], k: int, mask: Bool[Array, "t s"] | None = None) -> Bool[Array, "t s"]:
    """The mask under which each query sees the k keys of its largest scores, of those that it may see.

    Of equal scores the earlier key comes first. A query that may see fewer than k keys sees all of these.

    Args:
        scores: whatever ranks the keys: the head's own scores, or those of an indexer.
        k: how many keys are read.
        mask: which keys may be read. It has to be known here: a hidden key that is chosen first takes a place.

    Raises:
        ValueError: if k is not a positive whole number, there are fewer keys, or the mask has another shape.

    Example:
        The largest score is hidden from the second query.

        >>> scores = jnp.array([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]])
        >>> print(top_k_mask(scores, 1, jnp.array([[True, True, True], [True, False, True]])).astype(int))
        [[0 1 0]
         [0 0 1]]
    """
    refuse.not_a_size(k=k)
    refuse.wrong_rank(2, scores=scores)
    t, s = scores.shape
    if k > s:
        raise ValueError(f"of {s} keys no {k} can be read; give a k of at most {s}")
    refuse_mask(mask, t, s)
    seen = jnp.ones((t, s), bool) if mask is None else mask
    _, best = lax.top_k(jnp.where(seen, scores, -jnp.inf), k)
    return jnp.zeros((t, s), bool).at[jnp.arange(t)[:, None], best].set(True) & seen


def window_mask(
    queries: int,
    keys: int | None = None,
    *,
    before: int | None = None,
    after: int | None = 0,
    offset: int | Int[Array, ""] | None = None,
) -> Bool[Array, "t s"]:
    """The mask under which each position sees itself, some positions before it and some after it.

    >>> window_mask(3, before=1).astype(int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]], dtype=int32)

    Args:
        queries: how many positions ask.
        keys: how many positions there are in all; by default as many.
        before: how many earlier positions are seen; None: all.
        after: how many later positions are seen; None: all.
        offset: the position of the first query among the keys. It may be traced, and it may lie outside. By default
            it is keys - queries, so the queries are the last of the keys, as in `causal_mask`. 0 puts them first.

    Returns:
        True where a query may look. Rows of queries that stand far outside the keys are all False.

    Raises:
        ValueError: if a number of positions is not a positive whole number, `before` or `after` is negative, or the
            offset is not a whole number. Or if there is no offset and there are fewer keys than queries.

    Source: Beltagy et al. 2020, "Longformer", section 3.1.
    """
    keys = queries if keys is None else keys
    refuse.not_a_size(queries=queries, keys=keys)
    for name, number in {"before": before, "after": after}.items():
        if number is not None:
            refuse.not_whole(**{name: number})
            if number < 0:
                raise ValueError(f"{name} must not be negative, but is {number}")
    if offset is None:
        if keys < queries:
            raise ValueError(
                f"{queries} queries do not fit among {keys} keys: give the position of the first query as offset"
            )
        offset = keys - queries
    elif refuse.is_concrete(offset):
        refuse.not_whole(offset=offset)
    distance = jnp.arange(keys)[None, :] - (jnp.arange(queries) + jnp.asarray(offset, int))[:, None]
    seen = jnp.ones((queries, keys), bool)
    if before is not None:
        seen &= distance >= -before
    return seen if after is None else seen & (distance <= after)


def length_mask(queries: int, keys: int, *, length: int | Int[Array, ""]) -> Bool[Array, "t s"]:
    """The mask that hides padding: only the first `length` keys are seen.

    >>> length_mask(1, 4, length=3)
    Array([[ True,  True,  True, False]], dtype=bool)

    Args:
        queries: how many positions ask.
        keys: how many places there are.
        length: how many of them hold keys, the valid length; may be traced. With 0, no row sees anything.

    Raises:
        ValueError: if a number of positions is not a positive whole number, or the length does not lie between 0
            and the number of keys.
    """
    refuse.not_a_size(queries=queries, keys=keys)
    if refuse.is_concrete(length):
        refuse.not_whole(length=length)
        if not 0 <= length <= keys:
            raise ValueError(f"the length must lie between 0 and the {keys} keys there are, not {length}")
    return jnp.broadcast_to(jnp.arange(keys)[None, :] < jnp.asarray(length, int), (queries, keys))


def refuse_blind(mask: Bool[Array, "t s"] | None, t: int, s: int) -> None:
    """Refuse a mask that is not boolean or of the wrong shape, or one under which a query sees nothing.

    Args:
        mask: True where a query may look; None passes.
        t: number of queries.
        s: number of keys.

    Raises:
        ValueError: with the dtype or the shape that is needed, or the first query that sees nothing.

    Example:
        A good mask passes. One that hides everything is refused.

        >>> refuse_blind(causal_mask(3), 3, 3)
        >>> refuse_blind(jnp.zeros((3, 3), bool), 3, 3)
        Traceback (most recent call last):
            ...
        ValueError: mask hides every key from query 0: a softmax over nothing has no value
    """
    refuse_mask(mask, t, s)
    if mask is not None and refuse.is_concrete(mask):
        blind = np.flatnonzero(~np.asarray(mask).any(axis=1))
        if blind.size:
            raise ValueError(f"mask hides every key from query {blind[0]}: a softmax over nothing has no value")


def refuse_mask(mask: Bool[Array, "t s"] | None, t: int, s: int) -> None:
    """Refuse a mask that is not boolean or of the wrong shape.

    Raises:
        ValueError: with the dtype or the shape that is needed.

    Example:
        >>> refuse_mask(causal_mask(3), 3, 3)
        >>> refuse_mask(causal_mask(3), 2, 3)
        Traceback (most recent call last):
        ValueError: mask must have shape (2, 3) (queries, keys), not (3, 3)
    """
    if mask is None:
        return
    # A mask that is meant to be added (0 and -inf) would be read the wrong way round, and NaN as True.
    if mask.dtype != bool:
        raise ValueError(f"mask must be boolean, True where a query may look, not {mask.dtype}")
    if mask.shape != (t, s):
        raise ValueError(f"mask must have shape {(t, s)} (queries, keys), not {mask.shape}")
