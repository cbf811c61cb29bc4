"""Verdicts of a lab: its statements about training, judged over training runs, all at one error rate together.

A statement about training is one about runs that nobody has made yet. So it is judged by an interval over runs, and
never by the answers of one model, however many these are. A statement about every model, or about no training at
all, needs one model only; it brings the error rate of its own interval.

All statements about training that a lab judges are one family. Its error rate is shared out equally (Bonferroni):
all verdicts of the family together err with probability at most that rate, if runs are close to normal.

Too few runs decide nothing. Then there is no verdict, and what is missing is said.
"""

import collections
import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import scipy  # special is loaded when first used: it takes a quarter of a second

from attnlab_theory import claims
from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.claims.judging import judge
from attnlab_theory.claims.statement import FINE, LEAST
from attnlab_theory.labs import estimates
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.stats import Interval
from attnlab_theory.stats.bounds import refuse_error_rate

ERROR_RATE = 0.05
"""The probability that any verdict of a family errs. Every single interval that is shown has it, too."""

REACH = 10.0
"""Standard deviations of a run: an interval that reaches further to either side is no judge. A convention, and a
mild one. Nobody plans for a difference of ten standard deviations, but where one is found, its verdict stands."""


MANY = 100
"""Nobody trains more runs to decide one statement."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """What a lab claims of a number that was measured."""

    estimate: Estimate
    claim: str
    statement: str
    source: str
    predicted: Interval
    """Where the number should lie."""
    resolution: float = FINE
    """The widest measured interval that may count as support without lying inside."""
    conjecture: bool = False
    """Whether nobody knows what to expect of it."""
    of_training: bool = True
    """Whether it is about runs that nobody has made yet. Else it is about every model, or about no training."""
    least: int = LEAST
    """Runs that it needs in any case."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unjudged:
    """A statement about training for which there are too few runs."""

    claim: str
    statement: str
    setting: dict[str, Any]
    runs: int
    """How many there are."""
    needs: int
    """How many it takes."""


class Undecided(NamedTuple):
    """A statement about training that its runs leave INCONCLUSIVE."""

    claim: str
    setting: dict[str, Any]
    runs: int
    """How many there are."""
    decide: int | None
    """How many would decide, if the next are like these; None beyond `MANY`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdicts:
    """What a lab found, and what it could not judge."""

    findings: Findings
    unjudged: tuple[Unjudged, ...]
    """These are no findings, and no exit code depends on them."""
    family: int
    """How many statements about training share the error rate."""
    error_rate: float
    """The probability that any verdict of the family errs."""
    apart: Mapping[float, int]
    """How many findings are of no family, by their own error rate; 0 is that of numbers that are counted."""
    undecided: tuple[Undecided, ...]
    """Findings all the same, and as such not as expected unless they are conjectures."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(each.as_expected for each in self.findings)

    @property
    def of_each(self) -> float:
        """The error rate of one verdict of the family."""
        return self.error_rate / max(self.family, 1)

    def as_json(self) -> dict[str, Any]:
        """What the record of a run says of its verdicts."""
        return {
            "verdicts": {
                "family": self.family,
                "error_rate_of_the_family": self.error_rate,
                "error_rate_of_each": self.of_each,
                "apart": [{"error_rate": rate, "verdicts": count} for rate, count in self.apart.items()],
            },
            "not_judged": [dataclasses.asdict(each) for each in self.unjudged],
        }

    def sentences(self) -> tuple[str, ...]:
        """How many verdicts there are at which rate, and what is not judged."""
        lines = []
        if self.family:
            lines.append(
                f"{self.family} statements about training share an error rate of {self.error_rate:g}: their "
                f"verdicts together err with at most this probability, each with at most {self.of_each:.2g} "
                "(Bonferroni)."
            )
        if self.apart:
            counts = ", ".join(f"{count} {_at(rate)}" for rate, count in self.apart.items())
            lines.append(f"Verdicts on every model or on no training, apart: {counts}.")
        grouped = collections.Counter((each.claim, each.runs, each.needs) for each in self.unjudged)
        for (claim, runs, needs), count in grouped.items():
            has = "1 run" if runs == 1 else f"{runs} runs"
            settings = "" if count == 1 else f" at {count} settings"
            lines.append(f"{claim}{settings}: not judged: needs {needs} seeds, not {has}.")
        return (*lines, *map(self._remedy, dict.fromkeys(each.claim for each in self.undecided)))

    def _remedy(self, claim: str) -> str:
        """What would decide a claim where it is INCONCLUSIVE."""
        decide = [each.decide for each in self.undecided if each.claim == claim]
        known = sorted(number for number in decide if number is not None)
        some = []
        if known:
            counts = f"{known[0]}" if known[0] == known[-1] else f"{known[0]} to {known[-1]}"
            some.append(f"about {counts} training runs would decide, if the next are like these")
        if None in decide:
            of_them = f" {decide.count(None)} of them" if known else ""
            some.append(f"{MANY} training runs would not decide{of_them}")
        settings = "" if len(decide) == 1 else f" at {len(decide)} settings"
        return f"{claim}{settings}: INCONCLUSIVE: {'; '.join(some)}."


def judged(statements: Iterable[Statement], *, experiment: str, error_rate: float = ERROR_RATE) -> Verdicts:
    """Every statement judged for which there are enough runs.

    Args:
        statements: all of a lab.
        experiment: the lab.
        error_rate: of all statements about training together.
    """
    every = tuple(statements)
    of_training = [each for each in every if each.of_training]
    family = sum(each.estimate.runs >= each.least for each in of_training)
    # Whoever adds runs adds verdicts, too: the least number is that of the family of all.
    needed, at_last = (runs_needed(error_rate / max(count, 1)) for count in (family, len(of_training)))
    found: list[Finding] = []
    left: list[Unjudged] = []
    undecided: list[Undecided] = []
    for each in every:
        if each.of_training and each.estimate.runs < max(each.least, needed):
            told = {"setting": each.estimate.setting, "runs": each.estimate.runs}
            least = max(each.least, at_last)
            left.append(Unjudged(claim=each.claim, statement=each.statement, needs=least, **told))
        else:
            rate = error_rate / family if each.of_training else each.estimate.error_rate
            found.append(_finding(each, experiment, rate))
            if each.of_training and found[-1].verdict == Verdict.INCONCLUSIVE:
                estimate, decide = each.estimate, runs_that_decide(each, rate)
                undecided.append(Undecided(each.claim, estimate.setting, estimate.runs, decide))
    apart = collections.Counter(each.estimate.error_rate for each in every if not each.of_training)
    return Verdicts(
        findings=Findings(found),
        unjudged=tuple(left),
        family=family,
        error_rate=error_rate,
        apart=dict(apart),
        undecided=tuple(undecided),
    )


def verdicts_on(
    statements: Sequence[claims.Statement],
    measured: Sequence[Estimate],
    *,
    experiment: str,
    error_rate: float = ERROR_RATE,
) -> Verdicts:
    """Every declared statement judged, at every number that it is about.

    Args:
        statements: of the lab.
        measured: the lab's numbers; findings come in their order.
        experiment: the lab.
        error_rate: of all statements about training together.
    """
    every = [
        Statement(
            estimate=estimate,
            claim=stated.name,
            statement=stated.statement,
            source=stated.source,
            predicted=predicted,
            resolution=stated.resolution,
            conjecture=stated.expect is None,
            of_training=stated.of_training,
            least=stated.least,
        )
        for estimate in measured
        for stated in statements
        if stated.asks(estimate) and (predicted := stated.predicts(estimate, measured)) is not None
    ]
    return judged(every, experiment=experiment, error_rate=error_rate)


@functools.cache
def runs_needed(error_rate: float) -> int:
    """The least number of runs whose t interval reaches no further than `REACH` standard deviations of a run.

    Raises:
        ValueError: if the error rate does not lie between 0 and 1.
    """
    refuse_error_rate(error_rate)
    runs = LEAST
    while _quantile(runs, error_rate) > REACH * math.sqrt(runs):
        runs += 1
    return runs


def runs_that_decide(stated: Statement, error_rate: float) -> int | None:
    """The least number of runs that decide a statement, if they have the mean and the spread of those there are.

    A plan and no promise: mean and spread are as uncertain as the verdict. None beyond `MANY`.

    Args:
        stated: about training.
        error_rate: of its verdict.
    """
    estimate = stated.estimate
    now = estimate.at(error_rate)
    # An end may be cut where no number can lie: the other one is not.
    radius = max(estimate.value - now.low, now.high - estimate.value)
    spread = radius * math.sqrt(estimate.runs) / _quantile(estimate.runs, error_rate)
    for runs in range(estimate.runs + 1, MANY + 1):
        reach = spread * _quantile(runs, error_rate) / math.sqrt(runs)
        if judge(stated.predicted, Interval(estimate.value - reach, estimate.value + reach), stated.resolution) != (
            Verdict.INCONCLUSIVE
        ):
            return runs
    return None


def _quantile(runs: int, error_rate: float) -> float:
    """How many standard errors a t interval reaches to either side."""
    return -float(scipy.special.stdtrit(runs - 1, error_rate / 2))


def _finding(stated: Statement, experiment: str, error_rate: float) -> Finding:
    estimate = stated.estimate
    if stated.of_training:
        estimate = dataclasses.replace(estimate, interval=estimate.at(error_rate), error_rate=error_rate)
    return estimates.judged(
        estimate,
        experiment=experiment,
        claim=stated.claim,
        statement=stated.statement,
        source=stated.source,
        predicted=stated.predicted,
        resolution=stated.resolution,
        conjecture=stated.conjecture,
    )


def _at(rate: float) -> str:
    return f"at {rate:g}" if rate else "counted, without chance"
