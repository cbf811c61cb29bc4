"""Means over millions of trials in bounded memory."""

import functools
import math
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse

STEPS = 256
"""The most chunks per call of the compiled loop, over all devices. A power of two, so that 1, 2, 4, ... 256
devices share them evenly."""

Draw = Callable[[PRNGKeyArray, int], Float[Array, "m n"]]


class Moments(NamedTuple):
    """What is known of E[x] and Var(x) for each of m statistics x after `trials` independent trials.

    Example:
        A hundred trials with variance 4: the standard error of the mean is 2 / 10.

        >>> Moments(100, np.array([1.0]), np.array([4.0])).standard_error
        array([0.2])
    """

    trials: int
    mean: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]

    @property
    def standard_error(self) -> Float[np.ndarray, " m"]:
        """The standard errors of the means."""
        return np.sqrt(self.variance / self.trials)


def moments(key: PRNGKeyArray, draw: Draw, *, trials: int, chunk: int = 4096) -> Moments:
    """Mean and variance of statistics over many trials, whose draws are never all in memory.

    Only sums leave the compiled loop, so memory is that of one chunk per device. Linear steps can wait until the
    end: accumulate the moments of the weights, and apply the values once.

    Args:
        key: a PRNG key, not to be used again. Chunk i folds i into the key, so results do not depend on the number
            of devices.
        draw: `draw(key, n)` makes n independent trials and returns m statistics of each; jax-traceable. Pass
            the same function again and it is not compiled again.
        trials: at least this many; rounded up to whole chunks.
        chunk: trials per step, which bounds the memory. Sums within a chunk, of distances from its first trial,
            are in the statistics' dtype, sums over chunks in float64.

    Raises:
        ValueError: if `trials` or `chunk` is not a positive whole number, or a statistic is not finite.

    Example:
        A fair coin has mean 1/2 and variance 1/4. Draws come in chunks of 4096, so 10,000 trials become 12,288.

        >>> def coin(key, n):
        ...     return jax.random.bernoulli(key, 0.5, (1, n)).astype(float)
        >>> found = moments(jax.random.key(0), coin, trials=10_000)
        >>> found.trials, found.mean.round(1), found.variance.round(2)
        (12288, array([0.5]), array([0.25]))
    """
    refuse.not_a_size(trials=trials, chunk=chunk)
    trials, chunk = operator.index(trials), operator.index(chunk)
    run = _compiled(draw, chunk)
    chunks = -(-trials // chunk)
    devices = _shares()
    steps = min(STEPS, -(-chunks // devices) * devices)
    n, mean, spread = 0, np.zeros(()), np.zeros(())
    for first in range(0, chunks, steps):
        sums = run(key, jnp.arange(steps, dtype=jnp.uint32) + jnp.uint32(first))
        start, total, square, unit = (np.asarray(x, np.float64)[: chunks - first] for x in sums)
        total, square = total * unit, square * unit**2
        _refuse_overflow(start, square)
        means, more = start + total / chunk, len(start) * chunk
        centre = np.mean(means, axis=0)
        # This is a difference of sums, so rounding may leave it a little below 0 where nothing varies.
        within = np.maximum(square - total**2 / chunk, 0.0)
        spread = spread + np.sum(within + chunk * (means - centre) ** 2, axis=0)
        # Squares around two means, brought to the common one (Chan et al. 1983).
        spread = spread + n * more / (n + more) * (centre - mean) ** 2
        mean = mean + more / (n + more) * (centre - mean)
        n += more
    return Moments(n, mean, spread / max(n - 1, 1))


@functools.lru_cache(maxsize=64)
def _compiled(draw: Draw, chunk: int) -> Callable:
    def one_chunk(key: PRNGKeyArray, index: Array) -> tuple[Array, Array, Array, Array]:
        values = draw(jax.random.fold_in(key, index), chunk)
        # With squares of the values themselves, a variance that is small beside the squared mean would be lost.
        away = values - values[:, :1]
        if not jnp.issubdtype(away.dtype, jnp.floating):
            away = away.astype(jax.dtypes.canonicalize_dtype(float))
        # Float32 does not hold the squares of 1e20 or 1e-30 either. Dividing by a power of two changes no digit.
        unit = _power_of_two(jnp.max(jnp.abs(away), axis=1))
        units = away / unit[:, None]
        return values[:, 0], jnp.sum(units, axis=1), jnp.sum(units * units, axis=1), unit

    def some_chunks(key: PRNGKeyArray, indices: Array) -> tuple[Array, Array, Array, Array]:
        return jax.lax.map(lambda index: one_chunk(key, index), indices)

    mesh = Mesh(np.array(jax.devices()[: _shares()]), ("chunk",))
    here, split = PartitionSpec(), PartitionSpec("chunk")
    return jax.jit(jax.shard_map(some_chunks, mesh=mesh, in_specs=(here, split), out_specs=split, check_vma=False))


def _power_of_two(size: Float[Array, " m"]) -> Float[Array, " m"]:
    """A power of two about as large as the size, whose inverse is a normal number."""
    furthest = jnp.finfo(size.dtype).maxexp - 3
    exponent = jnp.clip(jnp.frexp(size)[1], -furthest, furthest)
    return jnp.ldexp(jnp.ones_like(size), exponent)


def _refuse_overflow(start: np.ndarray, square: np.ndarray) -> None:
    wrong = np.argwhere(~(np.isfinite(start) & np.isfinite(square)))
    if wrong.size:
        chunk, number = (int(i) for i in wrong[0])
        raise ValueError(
            f"statistic {number} is not finite, or differs by more than its type holds from trial to trial (one is "
            f"{start[chunk, number]:.6g}): give it in other units, or mend the draw"
        )


def _shares() -> int:
    """The number of devices that share the chunks of one call, all equally many."""
    return math.gcd(STEPS, jax.device_count())
