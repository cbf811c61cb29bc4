"""Estimates: measured numbers with their intervals. Figures are drawn from nothing else."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # special is loaded when first used: it takes a quarter of a second

from attnlab_theory import inputs
from attnlab_theory.claims import Finding, Verdict
from attnlab_theory.claims.judging import judge
from attnlab_theory.report import record
from attnlab_theory.stats import Bound, Interval, proportion, student

ERROR_RATE = 0.05
"""The probability that any verdict of a family errs. Every single interval that is shown has it, too."""

OVER_SEEDS = student("numbers of training runs that differ in the seed")
OVER_GENERATIONS = student("numbers of texts that one model writes, each with random numbers of its own")
OVER_TRIALS = student("jackknife pseudo-values of trials that are drawn independently")

_OF_RUNS = {f"{bound.name}: {bound.assumption}": bound for bound in (OVER_SEEDS, OVER_TRIALS)}
"""The intervals over training runs, by their names in files."""

FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("quantity", "bound"), str),
    **dict.fromkeys(("value", "error_rate"), (int, float)),
    "setting": dict,
    "draws": int,
}
"""The types of an estimate's fields in its file."""

ANYTHING = Interval(-math.inf, math.inf)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """The measured value of one quantity at one setting, with its interval."""

    quantity: str
    setting: dict[str, Any]
    value: float
    """The best guess. It lies in the interval."""
    interval: Interval
    draws: int
    bound: str
    """The name of the interval, what it assumes, and what the draws are."""
    error_rate: float
    values: tuple[float, ...] = ()
    """The draws, if they are one number for each training run. They give the interval at any other error rate."""
    within: Interval = ANYTHING
    """The range of possible values."""

    @property
    def runs(self) -> int:
        """The number of training runs in the mean. It is one if the draws are not training runs."""
        return self.draws if self.bound in _OF_RUNS else 1

    @property
    def over_runs(self) -> bool:
        """Whether it is about training runs that nobody has made yet, and so errs by chance."""
        return self.bound in _OF_RUNS and self.error_rate > 0

    def at(self, error_rate: float) -> Interval:
        """The interval over training runs at another error rate.

        An estimate from a file of an older version has no `values`. Then its t interval is stretched.

        Raises:
            ValueError: if the draws are not training runs.
        """
        if self.bound not in _OF_RUNS:
            raise ValueError(
                f"{self.quantity} is not a mean over training runs: its draws are those of {self.bound}"
            )
        if self.values:
            return _cut(_OF_RUNS[self.bound].interval(np.array(self.values), error_rate), self.within)
        return self.stretched(error_rate)

    def stretched(self, error_rate: float) -> Interval:
        """A t interval at another error rate, from its ends alone. An end that was cut off stays where it is."""
        before, now = (
            float(scipy.special.stdtrit(self.draws - 1, rate / 2)) for rate in (self.error_rate, error_rate)
        )
        down, up = self.value - self.interval.low, self.interval.high - self.value
        radius, least = now / before * max(down, up), (1 - 1e-6) * max(down, up)
        low = self.interval.low if down < least else self.value - radius
        return Interval(low, self.interval.high if up < least else self.value + radius)

    def as_json(self) -> dict[str, Any]:
        """The fields by name. Infinite ends become None. `values` and `within` are left out if there are none."""
        fields = {**vars(self), "interval": record.ends(self.interval)}
        del fields["values"], fields["within"]
        more = {"values": list(self.values), "within": record.ends(self.within)}
        return fields | more if self.values else fields

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Estimate":
        """What `as_json` wrote."""
        inputs.refuse_other_fields(value, FIELDS)
        record.refuse_impossible(value)
        read = {**value, "interval": record.from_ends(value["interval"])}
        if "values" in value or "within" in value:
            read |= {"values": tuple(map(float, value["values"])), "within": record.from_ends(value["within"])}
        return cls(**read)


class Estimates(tuple[Estimate, ...]):
    """Estimates in the order in which they were made."""

    def of(self, quantity: str, **setting: Any) -> "Estimates":
        """The estimates of one quantity at settings whose fields have the given values.

        Raises:
            KeyError: if there is none. So no figure lacks a curve without notice.
        """
        chosen = Estimates(
            e for e in self if e.quantity == quantity and all(e.setting[n] == v for n, v in setting.items())
        )
        if not chosen:
            raise KeyError(f"no estimate of {quantity} at {setting}")
        return chosen


def mean(quantity: str, draws: np.ndarray, bound: Bound, error_rate: float, **setting: Any) -> Estimate:
    """The mean of the draws, with the interval of a bound.

    Raises:
        ValueError: if the bound refuses the draws or the error rate.
    """
    return Estimate(
        quantity=quantity,
        setting=setting,
        interval=bound.interval(draws, error_rate),
        value=float(np.mean(draws)),
        draws=len(draws),
        bound=f"{bound.name}: {bound.assumption}",
        error_rate=error_rate,
    )


def known(quantity: str, value: float, draws: int, how: str, **setting: Any) -> Estimate:
    """A number that was counted, or computed exactly: chance has no part in it.

    Args:
        quantity: what is known.
        value: the number.
        draws: how many things were counted.
        how: how it was counted, and over what. It stands in the record instead of the name of a bound.
        setting: of the estimate.
    """
    return Estimate(
        quantity=quantity,
        setting=setting,
        value=value,
        interval=Interval.point(value),
        draws=draws,
        bound=how,
        error_rate=0.0,
    )


def apart(estimate: Estimate, quantity: str, number: float, *, below: bool = False) -> Estimate:
    """How far an estimate lies above a number that is known, such as what a control reaches.

    Args:
        estimate: what was measured.
        quantity: the name of the difference.
        number: what is known.
        below: whether to measure how far it lies below the number instead.
    """

    def at(value: float) -> float:
        return number - value if below else value - number

    def moved(interval: Interval) -> Interval:
        return Interval(*sorted((at(interval.low), at(interval.high))))

    return dataclasses.replace(
        estimate,
        quantity=quantity,
        value=at(estimate.value),
        interval=moved(estimate.interval),
        values=tuple(map(at, estimate.values)),
        within=moved(estimate.within),
    )


def share(quantity: str, draws: np.ndarray, error_rate: float, of: str = "", **setting: Any) -> Estimate:
    """The share of draws that are true, with Clopper and Pearson's interval.

    The draws may come from several models. On the far side of the mean, a sum of different coins spreads no
    further than one of equal coins (Hoeffding 1956). So the interval still covers the mean of their shares. That
    is the mean of these models alone, and says nothing about others.

    Args:
        quantity: what was measured.
        draws: truth values.
        error_rate: of the interval.
        of: what the draws are, in words.
        setting: of the estimate.

    Raises:
        ValueError: if there are no draws, or the error rate does not lie between 0 and 1.
    """
    found = mean(quantity, draws, proportion(), error_rate, **setting)
    return dataclasses.replace(found, bound=f"{found.bound}; {of}") if of else found


def over_seeds(
    quantity: str,
    values: Sequence[float],
    error_rate: float = ERROR_RATE,
    *,
    within: Interval = ANYTHING,
    **setting: Any,
) -> Estimate:
    """The mean of one number for each seed, with a t interval for the mean over more seeds.

    One seed, or seeds with equal numbers, say nothing about other seeds. Their interval is all of `within`.

    Args:
        quantity: what was measured.
        values: one for each seed.
        error_rate: of the interval.
        within: the range of possible values. The interval is cut to it.
        setting: of the estimate.
    """
    return _over(OVER_SEEDS, quantity, values, error_rate, within, setting)


def over_generations(
    quantity: str, values: Sequence[float], error_rate: float, *, within: Interval, **setting: Any
) -> Estimate:
    """The mean of one number for each generation of one model, with a t interval. No verdict rests on it.

    Args:
        quantity: what was measured.
        values: one for each generation.
        error_rate: of the interval.
        within: the range of possible values. The interval is cut to it.
        setting: of the estimate.
    """
    found = mean(quantity, np.array(values), OVER_GENERATIONS, error_rate, **setting)
    return dataclasses.replace(found, interval=_cut(found.interval, within))


def over_trials(quantity: str, values: np.ndarray, error_rate: float, **setting: Any) -> Estimate:
    """The mean of pseudo-values of the trials of a search, with a t interval."""
    return _over(OVER_TRIALS, quantity, values.tolist(), error_rate, ANYTHING, setting)


def _over(
    bound: Bound,
    quantity: str,
    values: Sequence[float],
    error_rate: float,
    within: Interval,
    setting: dict[str, Any],
) -> Estimate:
    found = mean(quantity, np.array(values), bound, error_rate, **setting)
    told = {"values": tuple(map(float, values)), "within": within}
    return dataclasses.replace(found, interval=_cut(found.interval, within), **told)


def _cut(interval: Interval, within: Interval) -> Interval:
    return Interval(max(within.low, interval.low), min(within.high, interval.high))


def judged(
    estimate: Estimate,
    *,
    experiment: str,
    claim: str,
    statement: str,
    source: str,
    predicted: Interval,
    resolution: float,
    expect: Verdict | None = Verdict.SUPPORTED,
) -> Finding:
    """The finding that an estimate gives for a claim.

    Args:
        estimate: what was measured.
        experiment: the lab that measured it.
        claim: the name of the claim.
        statement: the claim in words.
        source: where it comes from.
        predicted: where the number should lie.
        resolution: the widest measured interval that may count as support without lying inside.
        expect: the expected verdict. None if nobody knows.
    """
    verdict = judge(predicted, estimate.interval, resolution)
    return Finding(
        experiment=experiment,
        claim=claim,
        statement=statement,
        source=source,
        setting=estimate.setting,
        predicted=predicted,
        measured=estimate.interval,
        draws=estimate.draws,
        error_rate=estimate.error_rate,
        resolution=resolution,
        bound=estimate.bound,
        verdict=verdict,
        expect=expect,
    )
