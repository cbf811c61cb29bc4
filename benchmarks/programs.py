"""Programs ready to be raced: compiled by jax, or run by torch on every core."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.machine import SIZE, cores

SMALL = 64
"""A length at which a library shows its own pages and threads, which are not the work's."""


def in_jax(work: Callable, inputs: Callable[[int], Sequence], length: int) -> Callable[[], object]:
    """A callable that runs `work` once at this length, compiled beforehand but not yet run there.

    Args:
        work: arrays to arrays.
        inputs: length -> the arrays.
        length: of the race.
    """
    import jax

    jax.block_until_ready(jax.jit(work)(*inputs(SMALL)))
    arrays = inputs(length)
    compiled = jax.jit(work).lower(*arrays).compile()
    return lambda: jax.block_until_ready(compiled(*arrays))


def in_torch(work: Callable, inputs: Callable[[int], Sequence], length: int) -> Callable[[], object]:
    """The same for a function of torch's tensors."""
    import torch

    torch.set_num_threads(cores())
    work(*inputs(SMALL))
    tensors = inputs(length)
    return lambda: work(*tensors)


def normals(count: int, *shape: int) -> list:
    """Standard normal arrays of jax, always the same."""
    import jax

    return [jax.random.normal(key, shape) for key in jax.random.split(jax.random.key(0), count)]


def products(operations: float) -> dict[str, Callable[[], object]]:
    """About so many floating-point operations, in large matrix products of every library."""
    import jax
    import torch

    x = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    in_jax, in_torch = jax.numpy.asarray(x), torch.from_numpy(x)
    product = jax.jit(lambda a: a @ a)
    works: dict[str, Callable[[], object]] = {
        "products in jax": lambda: product(in_jax).block_until_ready(),
        "products in torch": lambda: in_torch @ in_torch,
        "products in numpy": lambda: x @ x,
    }
    times = max(1, round(operations / (2 * SIZE**3)))
    return {name: functools.partial(_repeat, work, times) for name, work in works.items()}


def _repeat(work: Callable[[], object], times: int) -> None:
    """Keeps no result: each would take pages that are fresh, and slow."""
    for _ in range(times):
        work()
