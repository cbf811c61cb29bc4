"""Confidence intervals for a mean, each with the assumption it stands on.

A `Bound` maps draws and an error rate to an interval that misses the expectation with at most that
probability, at a number of draws fixed in advance (rounds are `draws.py`'s affair).
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy.optimize
import scipy.stats

from attnlab_theory.stats.interval import Interval


@dataclasses.dataclass(frozen=True)
class Bound:
    """A way to turn draws into an interval for their expectation."""

    name: str
    assumption: str
    interval: Callable[[np.ndarray, float], Interval]

    @property
    def is_exact(self) -> bool:
        """Whether one draw decides, with error rate zero."""
        return self.name == "exact"


def exact(rounding: float) -> Bound:
    """The draw is a number, not a random variable, computed to within `rounding`.

    Args:
        rounding: a derived bound on the absolute error of the computation.

    Raises:
        ValueError: if `rounding` is negative or NaN.
    """
    if not rounding >= 0:
        raise ValueError(f"rounding must not be negative, but is {rounding}")

    def interval(draws: np.ndarray, error_rate: float) -> Interval:
        return Interval.around(float(draws[0]), rounding)

    return Bound("exact", f"deterministic, rounding error at most {rounding:.3g}", interval)


def bounded(low: float, high: float) -> Bound:
    """Empirical Bernstein: the draws lie in [low, high].

    Source: Maurer and Pontil 2009, theorem 4, applied to either side.
    """

    def interval(draws: np.ndarray, error_rate: float) -> Interval:
        _require(bool(np.min(draws) >= low and np.max(draws) <= high), f"a draw lies outside [{low}, {high}]")
        n = draws.size
        log = math.log(4 / error_rate)
        radius = math.sqrt(2 * np.var(draws, ddof=1) * log / n) + 7 * (high - low) * log / (3 * (n - 1))
        mean = float(np.mean(draws))
        return Interval(max(low, mean - radius), min(high, mean + radius))

    return Bound("bounded", f"draws lie in [{low:g}, {high:g}] (empirical Bernstein)", interval)


def proportion() -> Bound:
    """Clopper-Pearson: the draws are 0 or 1."""

    def interval(draws: np.ndarray, error_rate: float) -> Interval:
        _require(bool(np.all((draws == 0) | (draws == 1))), "a draw is neither 0 nor 1")
        n, successes = draws.size, int(np.sum(draws))
        low = scipy.stats.beta.ppf(error_rate / 2, successes, n - successes + 1) if successes else 0.0
        high = scipy.stats.beta.isf(error_rate / 2, successes + 1, n - successes) if successes < n else 1.0
        return Interval(float(low), float(high))

    return Bound("proportion", "draws are 0 or 1 (Clopper-Pearson)", interval)


def known_variance(variance: float) -> Bound:
    """Catoni's M-estimator: the draws have variance at most `variance`, and any tail at all.

    Needs more than 2 ln(2 / error_rate) draws; with fewer the interval is the whole line.

    Source: Catoni 2012, proposition 2.4.
    """
    if not 0 < variance < math.inf:
        raise ValueError(f"variance must be positive and finite, not {variance}")

    def interval(draws: np.ndarray, error_rate: float) -> Interval:
        n, log = draws.size, math.log(2 / error_rate)
        if n <= 2 * log:
            return Interval(-math.inf, math.inf)
        radius = math.sqrt(2 * variance * log / (n - 2 * log))
        scale = math.sqrt(2 * log / (n * (variance + radius**2)))

        def influence(theta: float) -> float:
            x = scale * (draws - theta)
            return float(np.sum(np.sign(x) * np.log1p(np.abs(x) + x * x / 2)))

        centre = scipy.optimize.brentq(influence, float(np.min(draws)), float(np.max(draws)))
        return Interval.around(float(centre), radius)  # pyright: ignore[reportArgumentType]

    return Bound("known_variance", f"variance at most {variance:.6g}, from theory (Catoni)", interval)


def normal(argument: str) -> Bound:
    """Mean plus or minus a normal quantile of its standard error.

    Args:
        argument: why the sample mean is close to normal here; goes into the finding.

    Raises:
        ValueError: if no argument is given.
    """
    if not argument.strip():
        raise ValueError("a normal interval needs its large-sample argument in words")

    def interval(draws: np.ndarray, error_rate: float) -> Interval:
        quantile = float(scipy.stats.norm.isf(error_rate / 2))
        return Interval.around(
            float(np.mean(draws)), quantile * float(np.std(draws, ddof=1)) / math.sqrt(draws.size)
        )

    return Bound("normal", f"large sample: {argument}", interval)


def _require(holds: bool, broken: str) -> None:
    if not holds:
        raise ValueError(f"the bound's assumption is broken: {broken}")
