"""Attention to a few blocks of keys per block of queries: sliding windows and BigBird, linear in the length.

Every block of queries gathers the keys and values that it sees and attends to them under a mask of its own. The
matrix of all pairs is never held, neither in the forward nor in the backward pass.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.attention.softmax import attention, refuse_inputs, refuse_values
from attnlab_theory.axes import Scalar

SLIDING_BLOCK = 128
"""The least number of queries in one block of a sliding window: smaller matrix products leave cores idle."""

ABSENT = -1
"""Stands for a block or a key that does not exist."""


def sliding_window_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    *,
    scale: Scalar,
    window: int,
    causal: bool = False,
    offset: int | None = None,
) -> Float[Array, "t v"]:
    """Softmax attention to the nearest positions only, in time and memory O(t * window).

    Args:
        q: queries, one row per position.
        k: keys, one row per position.
        v: values, one row per position.
        scale: inverse temperature, dimensionless.
        window: positions a query sees, itself included. Without `causal` it is odd, and position t sees t -
            window//2 .. t + window//2. With `causal`, position t sees the last `window` positions up to itself. It
            does not wrap around.
        causal: no position sees a later one.
        offset: the position of the first query among the keys. None: the queries are the last of the keys.

    Raises:
        ValueError: if `attention` refuses the arguments. Or if `window` is not positive, or even where it must be
            odd. Or if a query stands where its window shows no key. Or if there is no offset and there are fewer
            keys than queries.

    Example:
        Queries of 0 take the mean of what they see: a window of 3 is the token and its two neighbours.

        >>> x = jnp.zeros((3, 2))
        >>> v = jnp.array([[6.0, 0], [0, 6], [0, 0]])
        >>> print(np.asarray(sliding_window_attention(x, x, v, scale=1.0, window=3)).round(2))
        [[3. 3.]
         [2. 2.]
         [0. 3.]]

        Causal, a window of 1 is the token itself.

        >>> print(sliding_window_attention(x, x, v, scale=1.0, window=1, causal=True))
        [[6. 0.]
         [0. 6.]
         [0. 0.]]

    Source: Beltagy et al. 2020, "Longformer", section 3.1.
    """
    refuse_inputs(q, k, scale)
    refuse_values(k, v)
    n, there_are = q.shape[0], k.shape[0]
    refuse.not_a_size(window=window)
    if not causal and window % 2 == 0:
        raise ValueError(f"a window in both directions must be odd, not {window}: as many before as after")
    before = window - 1 if causal else window // 2
    after = 0 if causal else window // 2
    offset = _offset(n, there_are, before, after, offset)
    size = min(n, max(SLIDING_BLOCK, before + after))
    starts = np.arange(0, n, size)
    # Queries past the end repeat the last one. A row that sees nothing would have a gradient of NaN.
    at = np.minimum(starts[:, None] + np.arange(size), n - 1)
    around = starts[:, None] + np.arange(-before, size + after) + offset
    keys = jnp.asarray(np.where((around >= 0) & (around < there_are), around, ABSENT), jnp.int32)

    def sees(query: Int[Array, " b"], key: Int[Array, " c"]) -> Bool[Array, "b c"]:
        distance = key[None, :] - query[:, None]
        return (key[None, :] >= 0) & (distance >= -before) & (distance <= after)

    there = jnp.maximum(keys, 0)
    rows = _by_blocks(q[at], k[there], v[there], jnp.asarray(at + offset, jnp.int32), keys, sees, scale)
    return rows.reshape(-1, v.shape[1])[:n]


def _offset(queries: int, keys: int, before: int, after: int, offset: int | None) -> int:
    """Where the first query stands, if every window shows a key."""
    if offset is None:
        if keys < queries:
            raise ValueError(
                f"{queries} queries do not fit among {keys} keys: give the position of the first query as offset"
            )
        return keys - queries
    refuse.not_whole(offset=offset)
    last = offset + queries - 1
    if offset + after < 0 or last - before >= keys:
        blind, at = (0, offset) if offset + after < 0 else (queries - 1, last)
        raise ValueError(f"query {blind} stands at position {at} of {keys} keys, and its window shows none of them")
    return offset


def bigbird_links(
    key: PRNGKeyArray,
    n: int,
    *,
    block: int,
    window: int,
    global_blocks: int,
    random_blocks: int,
    causal: bool = False,
) -> Int[Array, "blocks links"]:
    """For every block of queries, `random_blocks` different blocks of keys that it does not see anyway.

    Nothing else in `attention` takes a PRNG key: BigBird's graph is random by definition.

    Returns:
        Block numbers; -1 where no block is left to choose (short sequences, early causal rows, global rows).

    Args:
        key: PRNG key, which the random links depend on.
        n: positions; a whole number of blocks.
        block: positions per block.
        window: blocks in the window, with the query's own in the middle; odd. It does not wrap around the ends.
        global_blocks: this many blocks at the start see every block and are seen by every block.
        random_blocks: further blocks that each block of queries sees.
        causal: no position sees a later one; links are drawn from the past.

    Raises:
        ValueError: if `bigbird_mask` refuses the arguments.

    Example:
        Each of three blocks sees itself, for the window is 1. It draws one of the two others, never itself.

        >>> layout = {"block": 1, "window": 1, "global_blocks": 0}
        >>> links = bigbird_links(jax.random.key(0), 3, random_blocks=1, **layout)
        >>> links.shape, bool(np.any(links[:, 0] == np.arange(3, dtype=np.int32)))
        ((3, 1), False)

        With two links, a block draws both others.

        >>> print(np.sort(bigbird_links(jax.random.key(0), 3, random_blocks=2, **layout)))
        [[1 2]
         [0 2]
         [0 1]]
    """
    count = _blocks(n, block, window, global_blocks)
    refuse.not_whole(random_blocks=random_blocks)
    if not 0 <= random_blocks <= count:
        raise ValueError(f"random_blocks must lie between 0 and the {count} blocks there are, not {random_blocks}")
    row, column = np.ogrid[:count, :count]
    free = (abs(row - column) > window // 2) & (row >= global_blocks) & (column >= global_blocks)
    if causal:
        free &= column < row
    chances, chosen = lax.top_k(jnp.where(free, jax.random.uniform(key, (count, count)), -1), random_blocks)
    return jnp.where(chances >= 0, chosen, ABSENT).astype(jnp.int32)


def bigbird_mask(
    key: PRNGKeyArray,
    n: int,
    *,
    block: int,
    window: int,
    global_blocks: int,
    random_blocks: int,
    causal: bool = False,
) -> Bool[Array, "n n"]:
    """BigBird's mask in full, for dense attention and for figures: `linked_mask` of `bigbird_links`.

    Args:
        key: PRNG key, which the random links depend on.
        n: positions; a whole number of blocks.
        block: positions per block.
        window: blocks in the window, with the query's own in the middle; odd. It does not wrap around the ends.
        global_blocks: this many blocks at the start see every block and are seen by every block.
        random_blocks: further blocks that each block of queries sees.
        causal: no position sees a later one; links are drawn from the past.

    Raises:
        ValueError: if `block` does not divide n, `window` is even, or a number of blocks does not fit.

    Example:
        Three blocks of one position. The first is global, so its row and its column are ones. The others see
        themselves; a random link would add a one to their rows.

        >>> layout = {"block": 1, "window": 1, "global_blocks": 1}
        >>> print(bigbird_mask(jax.random.key(0), 3, random_blocks=0, **layout).astype(int))
        [[1 1 1]
         [1 1 0]
         [1 0 1]]

    Source: Zaheer et al. 2020, "Big Bird", section 2 and appendix D.
    """
    layout = {"block": block, "window": window, "global_blocks": global_blocks, "causal": causal}
    return linked_mask(bigbird_links(key, n, random_blocks=random_blocks, **layout), n, **layout)


def linked_mask(
    links: Int[Array, "blocks links"], n: int, *, block: int, window: int, global_blocks: int, causal: bool = False
) -> Bool[Array, "n n"]:
    """The mask under which dense attention is `bigbird_attention` with these links.

    Args:
        links: further blocks that each block of queries sees (`bigbird_links`); -1 for none.
        n: positions; a whole number of blocks.
        block: positions per block.
        window: blocks in the window, with the query's own in the middle; odd. It does not wrap around the ends.
        global_blocks: this many blocks at the start see every block and are seen by every block.
        causal: no position sees a later one.

    Raises:
        ValueError: if `bigbird_attention` refuses the arguments.

    Example:
        The diagonal is the window. The links add block 2 to the row of block 0; -1 adds nothing.

        >>> links = jnp.array([[2], [-1], [-1]])
        >>> print(linked_mask(links, 3, block=1, window=1, global_blocks=0).astype(int))
        [[1 0 1]
         [0 1 0]
         [0 0 1]]
    """
    count = _linked_blocks(links, n, block, window, global_blocks)
    row, column = np.ogrid[:count, :count]
    always = (abs(row - column) <= window // 2) | (row < global_blocks) | (column < global_blocks)
    numbers = jnp.arange(count, dtype=jnp.int32)
    linked = jnp.any(links.astype(jnp.int32)[:, :, None] == numbers[None, None, :], axis=1)
    by_block = always | linked
    mask = jnp.repeat(jnp.repeat(by_block, block, axis=0), block, axis=1)
    return jnp.tril(mask) if causal else mask


def bigbird_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "t d"],
    v: Float[Array, "t v"],
    links: Int[Array, "blocks links"],
    *,
    scale: Scalar,
    block: int,
    window: int,
    global_blocks: int,
    causal: bool = False,
) -> Float[Array, "t v"]:
    """Softmax attention under `linked_mask(links, ...)`, in time and memory linear in the length.

    Args:
        q: queries, one row per position.
        k: keys, one row per position.
        v: values, one row per position.
        links: further blocks that each block of queries sees (`bigbird_links`); -1 for none. A link to a block
            that is seen anyway, or twice, adds nothing.
        block: positions per block; must divide the length.
        window: blocks in the window, odd. It does not wrap around the ends.
        scale: inverse temperature, dimensionless.
        global_blocks: this many blocks at the start see everything and are seen by everything.
        causal: no position sees a later one.

    Raises:
        ValueError: if `attention` refuses the arguments. Or if the lengths differ, `block` does not divide them, or
            `window` is even. Or if there are more global blocks than blocks, or the links are not one row of block
            numbers per block.

    Example:
        Queries of 0 take the mean of what they see. Block 0 sees itself and, by its link, block 2. The others see
        themselves.

        >>> x = jnp.zeros((3, 2))
        >>> v = jnp.array([[2.0, 0], [0, 4], [0, 6]])
        >>> links = jnp.array([[2], [-1], [-1]])
        >>> print(bigbird_attention(x, x, v, links, scale=1.0, block=1, window=1, global_blocks=0))
        [[1. 3.]
         [0. 4.]
         [0. 6.]]

    Source: Zaheer et al. 2020, "Big Bird", appendix D.
    """
    n = _length(q, k, v, scale)
    count = _linked_blocks(links, n, block, window, global_blocks)
    # A global query sees every key. Under a causal mask it sees only earlier blocks, which are global too, so it
    # needs no code of its own.
    whole = 0 if causal else global_blocks
    first = [attention(q[: whole * block], k, v, scale=scale)] if whole else []
    if whole == count:
        return first[0]
    seen = _seen(links, count, window, global_blocks)[whole:]

    def gathered(x: Array) -> Array:
        blocks = x.reshape(count, block, x.shape[1])[jnp.maximum(seen, 0)]
        return blocks.reshape(count - whole, -1, x.shape[1])

    def sees(query: Int[Array, " b"], key: Int[Array, " c"]) -> Bool[Array, "b c"]:
        latest = query[:, None] if causal else jnp.full_like(query, n)[:, None]
        return (key[None, :] >= 0) & (key[None, :] <= latest)

    inside = jnp.arange(block, dtype=jnp.int32)
    keys = jnp.where(seen[:, :, None] >= 0, seen[:, :, None] * block + inside[None, None, :], ABSENT)
    queries = jnp.arange(whole * block, n, dtype=jnp.int32).reshape(-1, block)
    q_blocks = q[whole * block :].reshape(-1, block, q.shape[1])
    rows = _by_blocks(q_blocks, gathered(k), gathered(v), queries, keys.reshape(count - whole, -1), sees, scale)
    return jnp.concatenate([*first, rows.reshape(-1, v.shape[1])])


def _seen(links: Array, count: int, window: int, global_blocks: int) -> Int[Array, "blocks seen"]:
    """The numbers of the blocks that each block of queries sees, each once. ABSENT fills the places of blocks
    that are missing or repeated."""
    row = np.arange(count)[:, None]
    near = row + np.arange(-(window // 2), window // 2 + 1)
    always = np.concatenate([np.broadcast_to(np.arange(global_blocks), (count, global_blocks)), near], axis=1)
    seen = jnp.concatenate([jnp.asarray(always, jnp.int32), links.astype(jnp.int32)], axis=1)
    there = (seen >= 0) & (seen < count)
    before = np.tril(np.ones((seen.shape[1],) * 2, bool), -1)
    doubled = jnp.any((seen[:, :, None] == seen[:, None, :]) & before[None], axis=2)
    return jnp.where(there & ~doubled, seen, ABSENT)


def _by_blocks(
    q: Float[Array, "n b d"],
    k: Float[Array, "n c d"],
    v: Float[Array, "n c v"],
    queries: Int[Array, "n b"],
    keys: Int[Array, "n c"],
    sees: Callable[[Int[Array, " b"], Int[Array, " c"]], Bool[Array, "b c"]],
    scale: Scalar,
) -> Float[Array, "n b v"]:
    """Attention of every block of queries to its own keys, block after block, at the positions given."""

    # Computed again in the backward pass: the weights of all blocks together would be the largest array by far.
    @jax.checkpoint
    def one(part: tuple[Array, ...]) -> Array:
        q, k, v, query, key = part
        return attention(q, k, v, sees(query, key), scale=scale)

    return lax.map(one, (q, k, v, queries, keys))


def _length(q: Array, k: Array, v: Array, scale: Scalar) -> int:
    refuse.wrong_rank(2, q=q, k=k, v=v)
    refuse.different_axes("positions", q=q.shape[0], k=k.shape[0], v=v.shape[0])
    refuse_inputs(q, k, scale)
    refuse_values(k, v)
    return q.shape[0]


def _blocks(n: int, block: int, window: int, global_blocks: int) -> int:
    """How many blocks there are, if they fit."""
    refuse.not_whole(positions=n)
    refuse.not_a_size(block=block, window=window)
    if not n > 0 or n % block:
        raise ValueError(
            f"{n} positions are not a whole number of blocks of {block}: pad them, or choose a divisor"
        )
    if window % 2 == 0:
        raise ValueError(f"a window of blocks must be odd, not {window}: as many before as after")
    refuse.not_whole(global_blocks=global_blocks)
    count = n // block
    if not 0 <= global_blocks <= count:
        raise ValueError(f"global_blocks must lie between 0 and the {count} blocks there are, not {global_blocks}")
    return count


def _linked_blocks(links: Array, n: int, block: int, window: int, global_blocks: int) -> int:
    count = _blocks(n, block, window, global_blocks)
    refuse.wrong_rank(2, links=links)
    if not jnp.issubdtype(links.dtype, jnp.integer):
        raise ValueError(f"links must hold block numbers, not {links.dtype}")
    if links.shape[0] != count:
        raise ValueError(f"links must have a row for each of the {count} blocks, not {links.shape[0]}")
    if refuse.is_concrete(links) and links.size:
        host = np.asarray(links)
        if host.min() < ABSENT or host.max() >= count:
            wrong = host[(host < ABSENT) | (host >= count)][0]
            raise ValueError(f"links must be block numbers below {count}, or {ABSENT} for none, not {wrong}")
    return count
