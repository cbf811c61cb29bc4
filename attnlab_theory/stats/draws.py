"""Draws in blocks of one fixed shape, spread over the devices, the same whatever their number."""

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

CHUNKS_PER_BLOCK = 8
"""One block is this many chunks: 1, 2, 4 or 8 devices share it evenly."""

HOST_CALL = re.compile("lapack|callback")
"""In a lowered program: a call that leaves XLA for the host."""

Block = Callable[[PRNGKeyArray, int, Any], Float[np.ndarray, "block points"]]


class NotOneNumber(ValueError):
    """A draw that gives an array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(f"drew an array of shape {shape}, not one number")


def blocks_of(draw: Callable[[PRNGKeyArray, Any], float | Float[Array, ""]], chunk: int) -> Block:
    """A compiled function `(key, index, points) -> draws` that makes block `index` of a stream.

    Every chunk folds its own number into the key, so block i of a stream is the same numbers whatever
    was drawn before and however many devices share the work. All points (a pytree with a leading axis)
    see the same random keys: points that differ in beta share their sampled keys. Another number of points
    is another program, which sees the same keys but may round differently.

    Args:
        draw: one draw at one point; jax-traceable.
        chunk: draws per device step, which bounds the memory.

    Raises:
        NotOneNumber: from the block, if a draw gives an array.
    """

    def number(key: PRNGKeyArray, point: Any) -> Array:
        value = jnp.asarray(draw(key, point), dtype=jax.dtypes.canonicalize_dtype(float))
        if value.shape:
            raise NotOneNumber(value.shape)
        return value

    at_all_points = jax.vmap(jax.vmap(number, in_axes=(None, 0)), in_axes=(0, None))

    def one_chunk(key: PRNGKeyArray, index: Array, points: Any) -> Array:
        return at_all_points(jax.random.split(jax.random.fold_in(key, index), chunk), points)

    def some_chunks(key: PRNGKeyArray, indices: Array, points: Any) -> Array:
        return jax.lax.map(lambda index: one_chunk(key, index, points), indices)

    compiled: Callable[..., Array] | None = None

    def block(key: PRNGKeyArray, index: int, points: Any) -> np.ndarray:
        nonlocal compiled
        indices = jnp.arange(CHUNKS_PER_BLOCK, dtype=jnp.uint32) + jnp.uint32(index * CHUNKS_PER_BLOCK)
        compiled = compiled or _compiled(some_chunks, key, indices, points)
        values = np.asarray(compiled(key, indices, points))
        return values.reshape(CHUNKS_PER_BLOCK * chunk, -1)

    return block


def _compiled(some_chunks: Callable[..., Array], *arguments: Any) -> Callable[..., Array]:
    """The chunks compiled, each device of this machine taking its share of them."""
    devices = jax.devices()
    on_processor = devices[0].platform == "cpu"
    share = math.gcd(CHUNKS_PER_BLOCK, len(devices))
    # Programs of two processor devices that call LAPACK or Python wait for each other's threads, and hang.
    if on_processor and share > 1 and HOST_CALL.search(jax.jit(some_chunks).lower(*arguments).as_text()):
        share = 1
    mesh = Mesh(np.array(devices[:share]), ("chunk",))
    here, split = PartitionSpec(), PartitionSpec("chunk")
    return jax.jit(
        jax.shard_map(some_chunks, mesh=mesh, in_specs=(here, split, here), out_specs=split, check_vma=False),
        # On a processor LLVM's first level gave the same bits as its third, as fast, a second sooner; a quick run
        # is mostly compilation. Level 0 is three times slower to run.
        compiler_options={"xla_backend_optimization_level": 1} if on_processor else None,
    )
