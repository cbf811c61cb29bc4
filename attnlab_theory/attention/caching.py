"""Causal attention one position at a time, over keys and values that are kept."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from attnlab_theory import refuse
from attnlab_theory.attention.precision import of_one_type
from attnlab_theory.attention.softmax import attention, refuse_inputs, refuse_values
from attnlab_theory.axes import Scalar


class Kept(NamedTuple):
    """The keys and values of earlier tokens, in slots. Everything that decodes uses this cache.

    Axes before the slots are heads, batches, or none. A slot that is not filled may hold anything: the caller hides
    such slots by a mask.

    Example:
        A cache of one slot becomes one of three. The new slots hold zeros.

        >>> Kept(k=jnp.ones((1, 2)), v=jnp.ones((1, 1))).in_slots(3).v.ravel().tolist()
        [1.0, 0.0, 0.0]
    """

    k: Float[Array, "*heads s d"]
    v: Float[Array, "*heads s v"]

    def written(
        self, k: Float[Array, "*heads n d"], v: Float[Array, "*heads n v"], slot: int | Int[Array, ""]
    ) -> "Kept":
        """This cache with new keys and values in the slots from `slot` on. These slots must exist: nothing is
        checked.

        >>> Kept(jnp.zeros((3, 2)), jnp.zeros((3, 1))).written(jnp.ones((1, 2)), jnp.ones((1, 1)), 1).v.ravel()
        Array([0., 1., 0.], dtype=float32)
        """
        return Kept(
            *(jax.lax.dynamic_update_slice_in_dim(x, new, slot, -2) for x, new in zip(self, (k, v), strict=True))
        )

    def in_slots(self, capacity: int) -> "Kept":
        """This cache with `capacity` slots: first the slots that it has, then slots of zeros."""

        def padded(x: Array) -> Array:
            return jnp.pad(x, [*[(0, 0)] * (x.ndim - 2), (0, capacity - x.shape[-2]), (0, 0)])

        return Kept(padded(self.k), padded(self.v))


class Cache(NamedTuple):
    """Room for the keys and values of a whole sequence, and how many are stored already.

    Example:
        Room for three positions, of which none is filled yet. `empty_cache` makes the same.

        >>> cache = Cache(k=jnp.zeros((3, 2)), v=jnp.zeros((3, 2)), length=jnp.int32(0))
        >>> cache.k.shape, int(cache.length)
        ((3, 2), 0)
    """

    k: Float[Array, "s d"]
    v: Float[Array, "s v"]
    length: Int[Array, ""]


def empty_cache(capacity: int, width: int, value_width: int, *, dtype: DTypeLike | None = None) -> Cache:
    """A cache for `capacity` positions. Its arrays keep their shape, so that every step is compiled once.

    Args:
        capacity: how many positions it has room for.
        width: numbers in a key.
        value_width: numbers in a value.
        dtype: the type of both arrays; by default JAX's float.

    Raises:
        ValueError: if a size is not a positive whole number.

    Example:
        Room for three positions, with keys and values of width 2.

        >>> cache = empty_cache(3, 2, 2)
        >>> cache.k.shape, cache.v.shape, int(cache.length)
        ((3, 2), (3, 2), 0)
    """
    refuse.not_a_size(capacity=capacity, width=width, value_width=value_width)
    dtype = jax.dtypes.canonicalize_dtype(float if dtype is None else dtype)
    return Cache(jnp.zeros((capacity, width), dtype), jnp.zeros((capacity, value_width), dtype), jnp.int32(0))


def decode_step(
    cache: Cache, q: Float[Array, " d"], k: Float[Array, " d"], v: Float[Array, " v"], *, scale: Scalar
) -> tuple[Float[Array, " v"], Cache]:
    """Append one key and value and attend to everything appended so far.

    The caller takes care of positions. With rotary positions, `q` and `k` must already be turned by the position of
    this token, and a key is never turned again.

    Args:
        cache: keys and values of the positions before this one.
        q: the query at this position.
        k: the key at this position.
        v: the value at this position.
        scale: inverse temperature, dimensionless.

    Returns:
        The output at this position, NaN if a traced cache was full, and the longer cache.

    Raises:
        ValueError: if `attention` refuses the arguments; also if the cache is full, or k or v is of another type
            than the arrays of the cache.

    Example:
        The first token sees only itself, so its output is its value. The second sees two keys, whose products with
        its query are 0, so its output is the mean of both values.

        >>> cache = empty_cache(3, 2, 2)
        >>> q, k = jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0])
        >>> output, cache = decode_step(cache, q, k, jnp.array([6.0, 0.0]), scale=1.0)
        >>> print(output)
        [6. 0.]
        >>> output, cache = decode_step(cache, q, k, jnp.array([0.0, 2.0]), scale=1.0)
        >>> print(output, cache.length)
        [3. 1.] 2
    """
    capacity = cache.k.shape[0]
    if refuse.is_concrete(cache.length) and int(cache.length) >= capacity:
        raise ValueError(f"the cache is full: it has room for {capacity} positions")
    refuse.wrong_rank(1, q=q, k=k, v=v)
    refuse.different_axes("key width", cache=cache.k.shape[1], k=k.shape[0])
    refuse.different_axes("value width", cache=cache.v.shape[1], v=v.shape[0])
    for name, row, kept in (("k", k, cache.k), ("v", v, cache.v)):
        if row.dtype != kept.dtype:
            raise ValueError(f"{name} holds {row.dtype}, but the cache {kept.dtype}: cast it, or make that cache")
    longer = Cache(*Kept(cache.k, cache.v).written(k[None], v[None], cache.length), cache.length + 1)
    filled = jnp.arange(capacity, dtype=longer.length.dtype) < longer.length
    output = attention(q[None, :], longer.k, longer.v, filled[None, :], scale=scale)[0]
    # Past the end the update above overwrites the last key: that must not look like an answer.
    return jnp.where(longer.length <= capacity, output, jnp.nan), longer


def cached_attention(
    q: Float[Array, "t d"], k: Float[Array, "t d"], v: Float[Array, "t v"], *, scale: Scalar
) -> Float[Array, "t v"]:
    """Causal attention by `decode_step`, one position after the other: what generation computes.

    Args:
        q: queries, one row per position.
        k: keys, one row per position.
        v: values, one row per position.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `attention` refuses the arguments; also if the lengths differ.

    Example:
        The queries are 0, so each output is the mean of the values so far.

        >>> import numpy as np
        >>> x = jnp.zeros((3, 2))
        >>> v = jnp.array([[6.0, 0], [0, 0], [0, 0]])
        >>> print(np.asarray(cached_attention(x, x, v, scale=1.0)).round(2))
        [[6. 0.]
         [3. 0.]
         [2. 0.]]
    """
    refuse.wrong_rank(2, q=q, k=k, v=v)
    refuse.different_axes("positions", q=q.shape[0], k=k.shape[0], v=v.shape[0])
    refuse_inputs(q, k, scale)
    refuse_values(k, v)
    q, k, v = of_one_type(q, k, v)
    start = empty_cache(k.shape[0], k.shape[1], v.shape[1], dtype=k.dtype)

    def step(cache: Cache, token: tuple[Array, Array, Array]) -> tuple[Cache, Array]:
        output, longer = decode_step(cache, *token, scale=scale)
        return longer, output

    return jax.lax.scan(step, start, (q, k, v))[1]
