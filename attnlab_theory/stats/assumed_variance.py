"""Whether draws agree with the variance that is assumed of them: a test by betting, valid at every stop."""

import dataclasses
import enum
import math

import numpy as np

ERROR_RATE = 1e-6
"""The largest chance that a right variance is called too small, whenever one stops."""

SHARE = 0.5
"""A variance is confirmed if this share of it is refuted. So a formula that lacks a factor of two is noticed."""

_BETS = 2.0 ** -np.arange(1, 13)
"""Shares of the wealth that are bet on each pair. The wealths are averaged: no bet is chosen by looking."""


class VarianceState(enum.StrEnum):
    """What the draws say of the variance that a bound assumes."""

    CONFIRMED = "confirmed against half of it"
    """The draws refute half of it, and do not refute it."""
    STRAINED = "strained"
    """The draws refute it: their variance is larger."""
    NOT_CHECKABLE = "variance not checkable"
    """The draws refute neither it nor half of it: they are too few for their tails, or vary much less."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VarianceCheck:
    """An assumed variance beside that of the draws."""

    assumed: float
    """The largest variance under which the interval keeps its error rate; in squared units of a draw."""
    sample: float
    """The sample variance, unbiased; infinite where the squares of the draws are."""
    state: VarianceState


def variance_check(draws: np.ndarray, assumed: float) -> VarianceCheck:
    """Compare the variance of independent draws of one law with the largest that is assumed.

    A pair of draws has (x - x')^2 / 2, whose expectation is the variance. A gambler bets that these numbers exceed
    `assumed` on average. If they do not, his money grows a million times with probability at most 1e-6. A variance
    that is halved by mistake is noticed after about 50 pairs of normal draws. With heavy tails it takes about three
    times as many draws as their kurtosis.

    Args:
        draws: a row of finite float64 numbers.
        assumed: positive and finite.

    Raises:
        ValueError: if `assumed` is not positive and finite.

    Example:
        A thousand draws of variance 1. That is confirmed where 1 is assumed, and refuted where a quarter is. Where
        100 is assumed they do not come near it.

        >>> draws = np.random.default_rng(0).normal(size=1000)
        >>> [variance_check(draws, assumed).state.name for assumed in (1.0, 0.25, 100.0)]
        ['CONFIRMED', 'STRAINED', 'NOT_CHECKABLE']

    Source: docs/mathematics/judging.md#whether-an-assumed-variance-is-right; Ville 1939.
    """
    if not 0 < assumed < math.inf:
        raise ValueError(f"the assumed variance must be positive and finite, not {assumed}")
    pairs = draws.size // 2
    # Scaled first: the square of a draw may overflow where its quotient by the standard deviation does not.
    units = (draws[: 2 * pairs : 2] - draws[1 : 2 * pairs : 2]) / math.sqrt(assumed)
    with np.errstate(over="ignore"):
        halves = units * units / 2
        sample = float(np.var(draws, ddof=1)) if draws.size > 1 else 0.0
    if _is_refuted(halves):
        state = VarianceState.STRAINED
    elif _is_refuted(halves / SHARE):
        state = VarianceState.CONFIRMED
    else:
        state = VarianceState.NOT_CHECKABLE
    return VarianceCheck(assumed=assumed, sample=sample, state=state)


def _is_refuted(halves: np.ndarray) -> bool:
    """Whether a gambler gets rich on these numbers: rarely so, if none is negative and their mean is at most 1."""
    logs = [float(np.sum(np.log1p(bet * (halves - 1)))) for bet in _BETS]
    return float(np.logaddexp.reduce(logs)) - math.log(len(_BETS)) >= -math.log(ERROR_RATE)
