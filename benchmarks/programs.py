"""Programs ready to be raced: compiled by jax, or run by torch on every core."""

from collections.abc import Callable, Sequence

from benchmarks.machine import cores

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
