"""Numbers made of sums over independent groups: leave each group out, and cover a whole family at once.

What lies in one group may depend on each other in any way. Groups are independent and alike: whole sentences dealt
to them at random, say.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from attnlab_theory.stats.bounds import EVERYTHING, refuse_error_rate
from attnlab_theory.stats.interval import Interval

LEAST = 10
"""The fewest groups. The spread of fewer says too little of itself."""


class Bands(NamedTuple):
    """A family of numbers, each with an interval. All intervals hold at once, except with the error rate.

    Example:
        Two numbers and their intervals.

        >>> family = Bands(values=np.array([1.0, 2.0]), low=np.array([0.5, 1.5]), high=np.array([1.5, 2.5]))
        >>> family.at(1)
        (2.0, Interval(low=1.5, high=2.5))
    """

    values: Float[np.ndarray, "*m"]
    low: Float[np.ndarray, "*m"]
    high: Float[np.ndarray, "*m"]

    def at(self, *index: int) -> tuple[float, Interval]:
        """One number of the family and its interval."""
        return float(self.values[index]), Interval(float(self.low[index]), float(self.high[index]))


def refuse_too_few(groups: int) -> None:
    """Refuse fewer groups than an interval needs; called before the work whose result would be refused.

    Args:
        groups: how many there are.

    Raises:
        ValueError: if there are fewer than `LEAST`; it says how many there are and how many it takes.

    Example:
        Ten are enough.

        >>> refuse_too_few(10)
        >>> refuse_too_few(3)
        Traceback (most recent call last):
            ...
        ValueError: intervals need at least 10 sentences, or groups of them, not 3: take more
    """
    if groups < LEAST:
        raise ValueError(f"intervals need at least {LEAST} sentences, or groups of them, not {groups}: take more")


def with_each_left_out(sums: Shaped[np.ndarray, " groups *m"]) -> Shaped[np.ndarray, " r *m"]:
    """The sum over all groups first, then the sums without group 0, 1, 2, …

    Args:
        sums: one row for each group.

    Raises:
        ValueError: if there are fewer than `LEAST` groups.

    Example:
        Ten groups with the sums 1 to 10. Together they have 55; without the first 54, without the last 45.

        >>> with_each_left_out(np.arange(1, 11))
        array([55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45])
    """
    refuse_too_few(len(sums))
    total = np.sum(sums, axis=0)
    return np.concatenate([total[None], total[None] - sums])


def sums_without_each(
    values: Shaped[np.ndarray, " n *m"], group: Int[np.ndarray, " n"], groups: int
) -> Shaped[np.ndarray, " r *m"]:
    """The sum of all rows, then the sums without the rows of group 0, 1, 2, …

    Args:
        values: one row for each member of a group.
        group: the number of the group that each row belongs to.
        groups: how many groups there are.

    Raises:
        ValueError: if there are fewer than `LEAST` groups.

    Example:
        Twenty sentences in ten groups, each sentence with the value 1: 20 in all, and 18 without any one group.

        >>> sums_without_each(np.ones(20), np.repeat(np.arange(10), 2), 10)
        array([20., 18., 18., 18., 18., 18., 18., 18., 18., 18., 18.])
    """
    return with_each_left_out(np.stack([np.sum(values[group == number], axis=0) for number in range(groups)]))


def bands(
    replicates: Float[np.ndarray, " r *m"],
    error_rate: float,
    *,
    within: Interval = EVERYTHING,
    draws: int = 2000,
    seed: int = 0,
) -> Bands:
    """Simultaneous intervals for numbers that are smooth functions of sums over groups.

    The spread of each number is the jackknife's. Groups are then drawn again with replacement. The largest |t| of
    the family exceeds some number with probability `error_rate`. Each interval reaches that many standard errors to
    either side (max-t). A number that no group moves says nothing of its spread: its interval is all of `within`.
    So is that of NaN, and an infinity is taken for NaN: a quotient whose denominator vanished.

    Args:
        replicates: the numbers from all groups, then without each group, as `with_each_left_out` orders them.
        error_rate: with which any interval of the family misses.
        within: where the numbers can lie; intervals are cut to it.
        draws: how often the groups are drawn anew.
        seed: another seed draws otherwise.

    Raises:
        ValueError: if there are too few groups, or the error rate does not lie between 0 and 1.

    Example:
        The mean of ten groups' values 1 to 10 is 5.5. Its standard error is 0.96. The interval is wider than 1.96
        of them to either side, for ten groups say little of their spread.

        >>> replicates = with_each_left_out(np.arange(1.0, 11.0)) / np.array([10] + 10 * [9])
        >>> value, interval = bands(replicates, 0.05).at()
        >>> value, round(interval.low, 1), round(interval.high, 1)
        (5.5, 3.4, 7.6)

    Source: Efron and Stein 1981; Romano and Wolf 2005.
    """
    refuse_error_rate(error_rate)
    groups = len(replicates) - 1
    refuse_too_few(groups)
    replicates = np.where(np.isfinite(replicates), replicates, np.nan)
    whole, shape = replicates[0].reshape(-1), replicates.shape[1:]
    pseudo = groups * whole - (groups - 1) * replicates[1:].reshape(groups, -1)
    centred = pseudo - np.mean(pseudo, axis=0)
    error = np.sqrt(np.sum(centred**2, axis=0) / (groups * (groups - 1)))
    # The rounding of equal sums is no spread.
    moves = np.isfinite(error) & (error > 1e-12 * (1 + np.abs(whole)))
    radius = np.full(whole.shape, math.inf)
    if np.any(moves):
        radius[moves] = _largest_t(centred[:, moves], error_rate, draws, seed) * error[moves]
    with np.errstate(invalid="ignore"):
        low, high = np.maximum(whole - radius, within.low), np.minimum(whole + radius, within.high)
    unknown = np.isnan(whole)
    low[unknown], high[unknown] = within.low, within.high
    return Bands(whole.reshape(shape), low.reshape(shape), high.reshape(shape))


def ratio_bands(
    replicates: Float[np.ndarray, " r *m"], error_rate: float, *, draws: int = 2000, seed: int = 0
) -> Bands:
    """The `bands` of positive numbers, made for their logarithms. A number that is not positive becomes NaN.

    A ratio of two sums of squares is skewed: if it comes out small, so does its spread. Its logarithm is less so.

    Args:
        replicates: the numbers from all groups, then without each group, as `with_each_left_out` orders them.
        error_rate: with which any interval of the family misses.
        draws: how often the groups are drawn anew.
        seed: another seed draws otherwise.

    Raises:
        ValueError: if there are too few groups, or the error rate does not lie between 0 and 1.

    Example:
        A ratio of sums: what ten groups gave against what they took, which is twice as much within a few percent.

        >>> gave = with_each_left_out(np.arange(21.0, 31.0))
        >>> took = with_each_left_out(np.full(10, 12.75))
        >>> value, interval = ratio_bands(gave / took, 0.05).at()
        >>> round(value, 2), interval.low > 1.7, interval.high < 2.3
        (2.0, True, True)
    """
    positive = np.isfinite(replicates) & (replicates > 0)
    logarithms = np.log(replicates, where=positive, out=np.full(replicates.shape, np.nan))
    with np.errstate(over="ignore"):
        return Bands(*map(np.exp, bands(logarithms, error_rate, draws=draws, seed=seed)))


def _largest_t(centred: Float[np.ndarray, "groups m"], error_rate: float, draws: int, seed: int) -> float:
    """What the largest |t| of the family exceeds with probability `error_rate` when groups are drawn anew."""
    groups = len(centred)
    rng = np.random.default_rng(seed)
    scaled = centred / np.sqrt(np.mean(centred**2, axis=0))
    largest = []
    for size in np.diff(np.append(np.arange(0, draws, 256), draws)):
        times = rng.multinomial(groups, np.full(groups, 1 / groups), size=size) / groups
        mean = times @ scaled
        spread = np.maximum(times @ scaled**2 - mean**2, 1e-12)
        largest.append(np.max(np.abs(mean) / np.sqrt(spread / (groups - 1)), axis=1))
    return float(np.quantile(np.concatenate(largest), 1 - error_rate, method="higher"))
