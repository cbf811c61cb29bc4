"""A number with its interval: the measured half of a finding, and all that a figure is drawn from."""

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

OVER_SEEDS = student("numbers of training runs that differ in the seed")
OVER_GENERATIONS = student("numbers of texts that one model writes, each with random numbers of its own")
OVER_TRIALS = student("jackknife pseudo-values of trials that are drawn independently")

_OF_RUNS = {f"{bound.name}: {bound.assumption}": bound for bound in (OVER_SEEDS, OVER_TRIALS)}
"""The intervals whose draws are numbers of training runs, by what a file calls them."""

FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("quantity", "bound"), str),
    **dict.fromkeys(("value", "error_rate"), (int, float)),
    "setting": dict,
    "draws": int,
}
"""What the fields of an estimate are in its file."""

ANYTHING = Interval(-math.inf, math.inf)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """What was measured of one quantity at one setting."""

    quantity: str
    setting: dict[str, Any]
    value: float
    """The best guess; lies in the interval."""
    interval: Interval
    draws: int
    bound: str
    """The name of the interval, what it assumes, and what the draws are."""
    error_rate: float
    values: tuple[float, ...] = ()
    """The draws, if they are one number for each training run: of them the interval at any other rate is made."""
    within: Interval = ANYTHING
    """Where such a number can lie."""

    @property
    def runs(self) -> int:
        """Training runs that the number is a mean of: its draws, or one if these are no training runs."""
        return self.draws if self.bound in _OF_RUNS else 1

    def at(self, error_rate: float) -> Interval:
        """The interval over training runs at another rate.

        What is read from a file of an older version has no `values`: its t interval is stretched. An end at which
        it was cut stays where it is.

        Raises:
            ValueError: if the draws are no training runs.
        """
        if self.bound not in _OF_RUNS:
            raise ValueError(f"{self.quantity} is no mean over training runs: its draws are those of {self.bound}")
        if self.values:
            return _cut(_OF_RUNS[self.bound].interval(np.array(self.values), error_rate), self.within)
        before, now = (
            float(scipy.special.stdtrit(self.draws - 1, rate / 2)) for rate in (self.error_rate, error_rate)
        )
        down, up = self.value - self.interval.low, self.interval.high - self.value
        radius, least = now / before * max(down, up), (1 - 1e-6) * max(down, up)
        low = self.interval.low if down < least else self.value - radius
        return Interval(low, self.interval.high if up < least else self.value + radius)

    def as_json(self) -> dict[str, Any]:
        """The fields by name; infinite ends become None. `values` and `within` are there only if there are any."""
        fields = {**vars(self), "interval": record.ends(self.interval)}
        del fields["values"], fields["within"]
        more = {"values": list(self.values), "within": record.ends(self.within)}
        return fields | more if self.values else fields

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Estimate":
        """What `as_json` wrote."""
        inputs.refuse_other_fields(value, FIELDS)
        read = {**value, "interval": record.from_ends(value["interval"])}
        if "values" in value or "within" in value:
            read |= {"values": tuple(map(float, value["values"])), "within": record.from_ends(value["within"])}
        return cls(**read)


class Estimates(tuple[Estimate, ...]):
    """Estimates in the order in which they were made."""

    def of(self, quantity: str, **setting: Any) -> "Estimates":
        """The estimates of one quantity at settings whose fields have the given values.

        Raises:
            KeyError: if there is none: a figure must not silently lack a curve.
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
        ValueError: as the bound.
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
    """A number without chance.

    Args:
        quantity: what is known.
        value: the number.
        draws: of how many.
        how: how it was counted, and over what; the record has it where a mean has its bound.
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


def share(quantity: str, draws: np.ndarray, error_rate: float, of: str = "", **setting: Any) -> Estimate:
    """The share of draws that are true, with Clopper and Pearson's interval.

    The draws may come of several models: for tails on the far side of the mean, a sum of unlike coins falls no
    further than one of like coins (Hoeffding 1956), so the interval still covers the mean of their shares.
    That is the mean of these very models. It says nothing of others.

    Args:
        quantity: what was measured.
        draws: truth values.
        error_rate: of the interval.
        of: what the draws are, for whoever reads the estimate.
        setting: of the estimate.

    Raises:
        ValueError: if there are no draws, or the error rate does not lie between 0 and 1.
    """
    found = mean(quantity, draws, proportion(), error_rate, **setting)
    return dataclasses.replace(found, bound=f"{found.bound}; {of}") if of else found


def over_seeds(
    quantity: str, values: Sequence[float], error_rate: float, *, within: Interval, **setting: Any
) -> Estimate:
    """The mean of one number per seed, with a t interval: where the mean over more seeds would lie.

    One seed, or seeds of equal numbers, say nothing of other seeds. Their interval is all of `within`.

    Args:
        quantity: what was measured.
        values: one for each seed.
        error_rate: of the interval.
        within: where such a number can lie; the interval is cut to it.
        setting: of the estimate.
    """
    return _over(OVER_SEEDS, quantity, values, error_rate, within, setting)


def over_generations(
    quantity: str, values: Sequence[float], error_rate: float, *, within: Interval, **setting: Any
) -> Estimate:
    """The mean of one number per generation of one model, with a t interval: no verdict rests on it.

    Args: as `over_seeds`.
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
    """An estimate judged as the lab's other claims are.

    Args:
        estimate: what was measured.
        experiment: the lab that measured it.
        claim, statement, source: as of `claims.Claim`.
        predicted: where the number should lie.
        resolution: the widest measured interval that may count as support without lying inside.
        expect: the verdict that is expected; None: nobody knows.
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
