"""A number with its interval: the measured half of a finding, and all that a figure is drawn from."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.claims import Finding, Verdict
from attnlab_theory.claims.judging import judge
from attnlab_theory.report import record
from attnlab_theory.stats import Bound, Interval, proportion, student

OVER_SEEDS = student("accuracies of training runs that differ in the seed")


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
    """The name of the interval, and what it assumes."""
    error_rate: float

    def as_json(self) -> dict[str, Any]:
        """The fields by name; infinite ends become None."""
        return {**vars(self), "interval": record.ends(self.interval)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Estimate":
        """What `as_json` wrote."""
        return cls(**{**value, "interval": record.from_ends(value["interval"])})


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


def share(quantity: str, draws: np.ndarray, error_rate: float, **setting: Any) -> Estimate:
    """The share of draws that are true, with Clopper and Pearson's interval.

    The draws may come of several models: for tails on the far side of the mean, a sum of unlike coins falls no
    further than one of like coins (Hoeffding 1956), so the interval still covers the mean of their shares.

    Raises:
        ValueError: if there are no draws, or the error rate does not lie between 0 and 1.
    """
    return mean(quantity, draws, proportion(), error_rate, **setting)


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
    found = mean(quantity, np.array(values), OVER_SEEDS, error_rate, **setting)
    low, high = max(within.low, found.interval.low), min(within.high, found.interval.high)
    return dataclasses.replace(found, interval=Interval(low, high))


def judged(
    estimate: Estimate,
    *,
    experiment: str,
    claim: str,
    statement: str,
    source: str,
    predicted: Interval,
    resolution: float,
    conjecture: bool = False,
) -> Finding:
    """An estimate judged as the lab's other claims are.

    Args:
        estimate: what was measured.
        experiment: the lab that measured it.
        claim, statement, source: as of `claims.Claim`.
        predicted: where the number should lie.
        resolution: the widest measured interval that may count as support without lying inside.
        conjecture: whether nobody knows what to expect of it.
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
        expect=None if conjecture else Verdict.SUPPORTED,
    )
