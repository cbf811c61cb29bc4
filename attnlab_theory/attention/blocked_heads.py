"""Blocked attention in several heads, which the devices of a processor share.

On one device with a thread for each core, every product of tiles is cut into parts that wait for each other. That
can cost half of the speed. A device for each core computes its own heads, and waits once.
"""

import functools
import math
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.blocked import blocked_attention
from attnlab_theory.attention.softmax import refuse_inputs, refuse_values
from attnlab_theory.axes import Scalar


def blocked_multi_head_attention(
    q: Float[Array, "h t d"],
    k: Float[Array, "h s d"],
    v: Float[Array, "h s v"],
    *,
    scale: Scalar,
    block: int,
    causal: bool = False,
) -> Float[Array, "h t v"]:
    """`blocked_attention` in every head by itself.

    If jax has several devices on this processor, they share the heads. It has one unless a program asks for more
    before it first uses jax: `jax.config.update("jax_num_cpu_devices", 2)`. A device for each core is fastest
    (`benchmarks/blocked_attention.py`). Each device needs the memory of one head at work.

    Some calls stay on one device: those with inputs on a chosen device, with a number of heads that the devices
    cannot share equally, or from inside `jax.shard_map`.

    Args:
        q: queries, by head.
        k: keys, by head.
        v: values, by head.
        scale: inverse temperature, dimensionless, the same for all heads.
        block: queries per block and keys per tile.
        causal: position t sees positions 0..t only.

    Returns:
        One row per head and query. As under `jit`, a row whose sums overflow is NaN.

    Raises:
        ValueError: if `blocked_attention` refuses the arguments; also if an array has not three axes, or they
            differ in heads.

    Example:
        Two heads, whose keys differ in sign. So do their scores.

        >>> x = jnp.eye(3, 2)
        >>> q, k = jnp.stack([x, x]), jnp.stack([x, -x])
        >>> o = blocked_multi_head_attention(q, k, q, scale=np.log(2), block=2)
        >>> print(np.asarray(o[:, 0]).round(2))
        [[0.5  0.25]
         [0.2  0.4 ]]

    Source: Dao et al. 2022, "FlashAttention", algorithms 1 and 4, in each head.
    """
    refuse.wrong_rank(3, q=q, k=k, v=v)
    refuse.different_axes("heads", q=q.shape[0], k=k.shape[0], v=v.shape[0])
    if all(map(refuse.is_concrete, (q, k, v, scale))):
        refuse.non_finite(q=q, k=k, v=v)  # before one head is looked at: the message names the head
        for head in range(q.shape[0]):
            refuse_values(k[head], v[head])
            refuse_inputs(q[head], k[head], scale)
    refuse.not_a_size(block=block)
    heads = _heads(_mesh(q, k, v), operator.index(block), causal)
    return heads(q, k, v, jnp.asarray(scale))


@functools.cache
def _heads(mesh: Mesh | None, block: int, causal: bool) -> Callable[..., Array]:
    """A function (q, k, v, scale) for all heads, compiled once for each shape."""

    def heads(q: Array, k: Array, v: Array, scale: Array) -> Array:
        return jax.vmap(functools.partial(blocked_attention, scale=scale, block=block, causal=causal))(q, k, v)

    if mesh is None:
        return heads
    own, whole = PartitionSpec("heads"), PartitionSpec()
    return jax.jit(jax.shard_map(heads, mesh=mesh, in_specs=(own, own, own, whole), out_specs=own, check_vma=False))


def _mesh(*inputs: Array) -> Mesh | None:
    """The devices that share the heads; None if one has them all."""
    devices = jax.local_devices()
    share = math.gcd(inputs[0].shape[0], len(devices))
    # jax declares its options while it runs, where no type checker sees them.
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    inside = not jax.sharding.get_abstract_mesh().empty
    if share == 1 or devices[0].platform != "cpu" or chosen is not None or inside:
        return None
    mesh = Mesh(np.array(devices[:share]), ("heads",))
    elsewhere = any(
        refuse.is_concrete(x)
        and isinstance(x, jax.Array)
        and x.committed
        and x.sharding.device_set != {*devices[:share]}
        for x in inputs
    )
    return None if elsewhere else mesh
