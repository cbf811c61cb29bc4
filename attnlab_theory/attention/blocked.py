"""Attention one block at a time: the whole matrix of weights is never held, forward or backward.

A block of queries meets its keys in tiles. After each tile it has a state: the largest score m, the normaliser z =
sum exp(score - m) and the unnormalised output o = sum exp(score - m) v. A new tile may raise m; z and o are then
rescaled, so that the end result is the softmax over all keys (Milakov and Gimelshein 2018). In the backward pass
the weights of a tile are computed again (Dao et al. 2022), and with them their normaliser and the mean of their
gradients. A normaliser from the forward pass would belong to scores that are rounded otherwise. Where one key has
all the weight, this difference would be as large as the gradient.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import lost_from_the_first, without_infinities
from attnlab_theory.attention.precision import of_one_type
from attnlab_theory.attention.softmax import largest_scale, refuse_inputs, refuse_values
from attnlab_theory.axes import Scalar

WHOLE_ROWS = 2048
"""Up to this many keys, a block of queries meets all the keys it sees in one tile, and nothing is rescaled; longer
tiles fall out of the cache."""

CAUSAL_WHOLE_ROWS = 1024
"""The same limit under a causal mask, where every block has a tile of its own length. The blocks are compiled
one by one. XLA may hold the tiles of all of them at once: half a matrix of this side, no more than 2 MiB each
way."""

PIECE = 256
"""The number of queries that meet the tile on the diagonal together. They meet no key after their own last
position. Longer blocks are cut into pieces there, so that few scores are computed that the causal mask forbids.
"""

ROWS = 128
"""The most queries whose gradients are computed together. They meet all the keys they see at once, because the
gradient of a softmax needs its whole row. Tile by tile, the scores would have to be computed twice."""

UNROLLED = 16
"""At most this many blocks are compiled one by one, or compilation would take longer than the work."""


def blocked_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    *,
    scale: Scalar,
    block: int,
    causal: bool = False,
) -> Float[Array, "t v"]:
    """Softmax attention in memory O((t + s) * block), forward and backward.

    Equal to `attention` up to rounding, gradients included, also where one key has all the weight. Derivatives
    are first ones only, in reverse mode. Under `vmap` the members run one after the other: together they would
    not fit in the cache. For heads there is `blocked_multi_head_attention`.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        scale: inverse temperature, dimensionless.
        block: queries per block and keys per tile; need not divide t or s. 128 to 1,024 is fast.
        causal: position t sees positions 0..t only.

    Returns:
        One row per query, in the common type of q, k and v; half precision is computed in float32. A row with a
        score that overflows to +inf is NaN. A score that overflows to -inf has no weight, unless all of the first
        tile do. Values are summed before they are divided: s times the largest must not overflow. Under `jit`,
        where values cannot be read, a row is NaN too if that sum overflows or the scale is bad. So is a row that
        sees a key or value that is not finite. Keys and values that the causal mask hides from a row do not change
        it.

    Raises:
        ValueError: if `attention` refuses the arguments; also if that sum overflows, `block` is not a positive
            whole number, or `causal` is asked for and t and s differ.

    Example:
        The same numbers as `attention`, from two queries and two keys at a time.

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(blocked_attention(x, x, x, scale=np.log(2), block=2)).round(2))
        [[0.5  0.25]
         [0.25 0.5 ]
         [0.33 0.33]]

    Source: Dao et al. 2022, "FlashAttention", algorithms 1 and 4; Milakov and Gimelshein 2018, "Online
        normalizer calculation for softmax".
    """
    refuse_values(k, v)
    refuse_inputs(q, k, scale)
    refuse.not_a_size(block=block)
    if causal:
        refuse.different_axes("positions under a causal mask", q=q.shape[0], k=k.shape[0])
    longest = min(CAUSAL_WHOLE_ROWS, UNROLLED * block) if causal else WHOLE_ROWS
    size = operator.index(block)
    readable = all(refuse.is_concrete(x) for x in (q, k, v, scale))
    plan = _Plan(size, min(PIECE, size), causal, k.shape[0] <= longest, readable)
    q, k, v = of_one_type(q, k, v)
    most = largest_scale(q.dtype)
    # Values are summed over all keys before they are divided: half precision has neither the range nor the digits.
    narrow = jax.dtypes.canonicalize_dtype(q.dtype)
    wide = narrow if narrow.itemsize >= 4 else np.dtype(np.float32)
    q, k, padded = (_two_columns(jnp.asarray(x, wide)) for x in (q, k, v))
    o: Array = _attend(plan, q, k, padded, jnp.asarray(refuse.nan_unless_positive(scale, most=most), wide))
    o = o[:, : v.shape[1]].astype(narrow)
    if plan.readable and np.isinf(o).any():
        raise ValueError(
            f"the values of query {int(np.argmax(np.isinf(o).any(axis=1)))} add up to more than {wide} holds: they "
            "are summed before they are divided; scale v down and the outputs up, or use attention"
        )
    return o


def _two_columns(x: Array) -> Array:
    """The array; if it has a single column, a column of zeros is added.

    XLA fuses a product of one term with what follows, without rounding it. So scores would differ from those whose
    maximum was taken. Where one key has all the weight, the difference is as large as the gradient.
    """
    return x if x.shape[1] != 1 else jnp.pad(x, ((0, 0), (0, 1)))


class _Plan(NamedTuple):
    block: int
    piece: int
    causal: bool
    whole_rows: bool
    readable: bool
    """Whether the caller can read the outputs and refuse sums that overflow. If not, such sums are NaN."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(plan: _Plan, q: Array, k: Array, v: Array, scale: Array) -> Array:
    return _one_by_one(_forward, plan)(q, k, v, scale)


def _attend_and_keep(plan: _Plan, q: Array, k: Array, v: Array, scale: Array):
    return _attend(plan, q, k, v, scale), (q, k, v, scale)


def _pull_back(plan: _Plan, kept: tuple[Any, ...], d_o: Array):
    # Arrays, and a scale that jax may hand back as a literal.
    return _one_by_one(_backward, plan)(*kept, d_o)


_attend.defvjp(_attend_and_keep, _pull_back)


@functools.cache
def _one_by_one(work: Callable, plan: _Plan) -> Callable:
    """`work`, compiled. Under `vmap` it is a loop, because one batched product would be three times slower."""
    return jax.jit(jax.custom_batching.sequential_vmap(functools.partial(work, plan)))


class _State(NamedTuple):
    m: Array
    z: Array
    o: Array


def _harmless(plan: _Plan, k: Array, v: Array) -> tuple[Array, Array, Array | None]:
    """Keys and values in which no hidden NaN or infinity does harm, and the rows that see one.

    Called inside the loop over members: before it, the keys of all members would be copied at once.
    """
    if not plan.causal or plan.readable:
        return refuse.nan_unless_finite(k), v, None
    return without_infinities(k), without_infinities(v), lost_from_the_first(k, v)


def _forward(plan: _Plan, q: Array, k: Array, v: Array, scale: Array) -> Array:
    k, v, lost = _harmless(plan, k, v)

    def block_of_queries(carry, start, size):
        q_block = scale * lax.dynamic_slice_in_dim(q, start, size)

        def meet(state, rows, at, width, diagonal):
            k_tile, v_tile = (lax.dynamic_slice_in_dim(x, at, width) for x in (k, v))
            if state is None:
                return _grown(None, q_block, k_tile, v_tile, diagonal)
            own = _State(*(x[rows] for x in state))
            return _changed(state, rows, _grown(own, q_block[rows], k_tile, v_tile, diagonal))

        state = _over_tiles(plan, meet, _nothing(plan, size, v.shape[1], q.dtype), start, size, k.shape[0])
        o = state.o if plan.readable else jnp.where(jnp.isinf(state.o), jnp.nan, state.o)
        # The value product came before this division: t * v divisions instead of t * s.
        return carry, o / state.z[:, None]

    o = _over_blocks(plan, block_of_queries, None, q.shape[0])[1]
    return o if lost is None else jnp.where(lost, jnp.nan, o)


def _nothing(plan: _Plan, size: int, width: int, dtype: Any) -> _State | None:
    """The first state of a block of queries; None if the block meets a single tile."""
    if plan.whole_rows:
        return None
    return _State(m=jnp.full(size, -jnp.inf, dtype), z=jnp.zeros(size, dtype), o=jnp.zeros((size, width), dtype))


def _grown(state: _State | None, q: Array, k: Array, v: Array, diagonal: int | None) -> _State:
    """The state after one more tile of keys. A state of None means that this tile is the only one."""
    scores = _scores(q, k, diagonal)
    m = jnp.max(scores, axis=1)
    if state is not None:
        m = jnp.maximum(state.m, m)
    powers = jnp.exp(scores - m[:, None])
    fresh = _State(m, jnp.sum(powers, axis=1), jnp.einsum("ts,sv->tv", powers, v))
    if state is None:
        return fresh
    # The first tile shows every query a key: unless all its scores overflow, m is finite and exp(-inf - m) zero.
    shrink = jnp.exp(state.m - m)
    return _State(m, shrink * state.z + fresh.z, shrink[:, None] * state.o + fresh.o)


def _changed(whole: Any, rows: slice, own: Any) -> Any:
    """The arrays `whole` with these rows replaced by `own`."""
    return jax.tree.map(lambda x, new: new if new.shape == x.shape else x.at[rows].set(new), whole, own)


def _backward(
    plan: _Plan, q: Array, k: Array, v: Array, scale: Array, d_o: Array
) -> tuple[Array, Array, Array, Array]:
    """The gradients. With weights a and their gradient g, that of the scores is a (g - sum a g)."""
    k, v, lost = _harmless(plan, k, v)
    if lost is not None:
        d_o = jnp.where(lost & (d_o != 0), jnp.nan, d_o)

    def add(d_q, d_k, d_v, start, size, width):
        q_rows, d_o_rows = (lax.dynamic_slice_in_dim(x, start, size) for x in (q, d_o))
        q_rows, k_seen, v_seen = scale * q_rows, k[:width], v[:width]
        scores = _scores(q_rows, k_seen, start if plan.causal else None)
        g = jnp.einsum("tv,sv->ts", d_o_rows, v_seen)
        powers = jnp.exp(scores - jnp.max(scores, axis=1)[:, None])
        weights = powers / jnp.sum(powers, axis=1)[:, None]
        d_scores = weights * (g - jnp.sum(weights * g, axis=1)[:, None])
        # Keys' and values' gradients are kept transposed: XLA's matrix product on the CPU is three times
        # slower when the result's long axis comes from a left side that must be transposed first.
        d_k = _added(d_k, jnp.einsum("td,ts->ds", q_rows, d_scores))
        d_v = _added(d_v, jnp.einsum("tv,ts->vs", d_o_rows, weights))
        own = jnp.einsum("ts,sd->td", d_scores, k_seen)
        return lax.dynamic_update_slice_in_dim(d_q, own, start, 0), d_k, d_v

    nothing = (jnp.zeros_like(q), jnp.zeros_like(k.T), jnp.zeros_like(v.T))
    d_q, d_k, d_v = _over_rows(plan, add, nothing, q.shape[0], k.shape[0])
    return scale * d_q, d_k.T, d_v.T, jnp.sum(q * d_q)


def _added(x: Array, more: Array) -> Array:
    return lax.dynamic_update_slice_in_dim(x, x[:, : more.shape[1]] + more, 0, axis=1)


def _scores(q: Array, k: Array, diagonal: Any) -> Array:
    """Products of scaled queries and keys; `diagonal` is the first query's position among these keys."""
    scores = jnp.einsum("td,sd->ts", q, k)
    if diagonal is None:
        return scores
    query, key = (lax.broadcasted_iota(jnp.int32, scores.shape, axis) for axis in (0, 1))
    return jnp.where(key <= query + diagonal, scores, -jnp.inf)


def _over_blocks(plan: _Plan, step: Callable, carry: Any, t: int) -> tuple[Any, Any]:
    """`step(carry, start, size) -> (carry, rows)` over blocks of queries; the rows joined."""
    whole = t // plan.block
    parts = []
    if plan.whole_rows and plan.causal:
        for i in range(whole):
            carry, rows = step(carry, start=i * plan.block, size=plan.block)
            parts.append(rows)
    elif whole:
        carry, rows = lax.scan(
            lambda c, i: step(c, start=i * plan.block, size=plan.block), carry, jnp.arange(whole)
        )
        parts.append(jax.tree.map(lambda x: x.reshape(whole * plan.block, *x.shape[2:]), rows))
    if t % plan.block or not parts:
        carry, rows = step(carry, start=whole * plan.block, size=t % plan.block)
        parts.append(rows)
    return carry, jax.tree.map(lambda *rows: jnp.concatenate(rows), *parts)


def _over_rows(plan: _Plan, add: Callable, sums: tuple[Array, ...], t: int, s: int) -> tuple[Array, ...]:
    """`add(*sums, start, size, width) -> sums` for some queries at a time, which see `width` keys."""
    size = min(plan.block, ROWS)
    whole = t // size
    together = max(1, whole)
    if plan.causal:
        # With many keys, at least two blocks share a loop. Without a loop XLA would compute the scores of all
        # blocks at once.
        together = max(1 if s <= CAUSAL_WHOLE_ROWS else 2, -(-whole // UNROLLED))
    for first in range(0, whole, together):
        last = min(first + together, whole)
        width = last * size if plan.causal else s
        if last - first == 1:
            sums = add(*sums, first * size, size, width)
        else:
            sums = lax.fori_loop(first, last, lambda i, x, width=width: add(*x, i * size, size, width), sums)
    return add(*sums, whole * size, t % size, s) if t % size else sums


def _over_tiles(plan: _Plan, meet: Callable, carry: Any, start: Any, size: int, s: int) -> Any:
    """`meet(carry, rows, at, width, diagonal) -> carry` over the tiles of keys that a block of queries sees."""
    every = slice(0, size)
    if plan.whole_rows:
        return meet(carry, every, 0, start + size, start) if plan.causal else meet(carry, every, 0, s, None)
    whole = start // plan.block if plan.causal else s // plan.block
    if plan.block <= s:  # else there is no whole tile to compile
        carry = lax.fori_loop(0, whole, lambda j, c: meet(c, every, j * plan.block, plan.block, None), carry)
    if plan.causal:
        # Blocks and tiles are equally long, so that the mask crosses exactly one tile.
        for at in range(0, size, plan.piece):
            rows = slice(at, min(at + plan.piece, size))
            carry = meet(carry, rows, start, rows.stop, at)
        return carry
    rest = s % plan.block
    return meet(carry, every, s - rest, rest, None) if rest else carry
