"""Measuring the mean of a random number to a wanted width, without any prediction."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.axes import Scalar
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Bound, Interval, student
from attnlab_theory.stats import draws as streams
from attnlab_theory.stats.bounds import refuse_error_rate
from attnlab_theory.stats.rounds import rounds

LARGE_SAMPLE = student("no bound was given, so the mean of the draws is taken as normal")
"""The bound where nothing is known of the draws. It guarantees nothing, as its assumption says."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """A mean with its interval.

    Example:
        A mean between 0.4 and 0.6 where a width of 0.1 was asked for: that is not narrow enough.

        >>> measured = Interval(0.4, 0.6)
        >>> found = Measurement(interval=measured, wanted=0.1, draws=16, error_rate=0.001, bound="student: coins")
        >>> found.is_narrow_enough
        False
        >>> print(found)
        0.4 to 0.6 (16 draws, error rate 0.001; student: coins); NOT as narrow as 0.1: allow more draws
    """

    interval: Interval
    """It misses the mean with probability `error_rate` at most, if the assumption of the bound is true."""
    wanted: float
    """The width that was asked for."""
    draws: int
    error_rate: float
    bound: str
    """The bound and its assumption."""

    @property
    def is_narrow_enough(self) -> bool:
        """Whether the wanted width was reached within the cap on draws."""
        return self.interval.width <= self.wanted

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        told = f"{low:.6g} to {high:.6g} ({self.draws:,} draws, error rate {self.error_rate:g}; {self.bound})"
        return told if self.is_narrow_enough else f"{told}; NOT as narrow as {self.wanted:g}: allow more draws"


def measure(
    draw: Callable[[PRNGKeyArray], Scalar],
    *,
    width: float,
    bound: Bound = LARGE_SAMPLE,
    error_rate: float = 1e-3,
    max_draws: int = 2**24,
    chunk: int = 1024,
    seed: int = 0,
) -> Measurement:
    """The mean of a random number, to a wanted width at a stated error rate.

    Draws come in rounds that double, as in `check`: stopping at the first interval that is narrow enough keeps
    the error rate.

    Args:
        draw: one random number from a PRNG key; jax-traceable.
        width: high - low of the interval; drawing stops as soon as it is reached.
        bound: what is known of the draws: `proportion()`, `bounded(low, high)`, `known_variance(v)`. By default
            nothing is known. The interval is then that of a large sample, which keeps its error rate only roughly.
        error_rate: the chance that the interval misses the mean, between 0 and 1.
        max_draws: the most draws, fixed before the first one; at least one block of `8 * chunk`.
        chunk: draws per device step.
        seed: another seed gives other draws.

    Returns:
        The measurement; its `is_narrow_enough` says whether the width was reached within the cap.

    Raises:
        ValueError: if the width is not positive, the error rate is not between 0 and 1, the bound is that of exact
            numbers, or `max_draws` is less than a block. Or if a draw is not one finite real number, breaks the
            bound's assumption, calls out of its program or is no function of its key. Or if the type of the draws
            is too coarse for the width.

    Example:
        How often a fair coin shows heads, to a width of 0.1. One block of 8 chunks is enough.

        >>> import jax
        >>> from attnlab_theory.stats import proportion
        >>> found = measure(lambda key: jax.random.bernoulli(key, 0.5), width=0.1, bound=proportion(), chunk=512)
        >>> found.interval.low < 0.5 < found.interval.high, found.draws, found.is_narrow_enough
        (True, 4096, True)
    """
    refuse.not_positive(width=width)
    refuse_error_rate(error_rate)
    if bound.is_exact:
        raise ValueError("an exact number is no mean of draws: call the function, or use exact_claim")
    block = _sampler(draw, chunk)
    key, points = key_for(seed, "measure"), jnp.zeros(1)
    drawn: list[np.ndarray] = []
    # The error rate holds of the numbers before they were rounded to their type: what that moves is added.
    for round_ in rounds(streams.CHUNKS_PER_BLOCK * chunk, max_draws):
        drawn += [block(key, index, points)[:, 0] for index in round_.blocks]
        row = np.concatenate(drawn)
        seen, moved = bound.interval(row, round_.spends(error_rate), block.kind), bound.rounding(row, block.kind)
        block.refuse_frozen()
        if 2 * moved > width:
            raise streams.TooCoarse(row, block.kind, moved, width)
        interval = Interval(seen.low - moved, seen.high + moved)
        if interval.width <= width or round_.is_last:
            return Measurement(
                interval=interval,
                wanted=width,
                draws=round_.draws,
                error_rate=error_rate,
                bound=f"{bound.name}: {bound.assumption}",
            )
    raise AssertionError("the last round returns")


@functools.lru_cache(maxsize=16)
def _sampler(draw: Callable[[PRNGKeyArray], Scalar], chunk: int) -> streams.Blocks:
    """Compiled once for all measurements of one function."""

    @functools.wraps(draw)
    def at(key: PRNGKeyArray, point: Array) -> Any:
        return draw(key)

    return streams.Blocks(at, chunk)
