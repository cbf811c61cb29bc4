"""Verdicts of a lab on its statements about training, at one error rate for all of them together.

A statement about training is about runs that nobody has made yet. So an interval over runs judges it, and never the
answers of one model, however many they are. A statement about every model, or about no training, needs one model
only. It has the error rate of its own interval.

All statements about training that a lab judges are one family. The family's error rate is shared out equally
(Bonferroni). If runs are close to normal, all verdicts of the family together err with probability at most that
rate. Shares near 0 or 1 are not: a line says how often their intervals miss instead.

Too few runs decide nothing. Then there is no verdict, and a line says how many runs are missing. What is
INCONCLUSIVE has a plan: a number of runs, and the probability that so many decide.

A statement is supported only if its control, such as an untrained model, does not pass as well. If a number over
runs tells them apart, it is one more number of the family.
"""

import collections
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, assert_never

import numpy as np
import scipy  # special is loaded when first used: it takes a quarter of a second

from attnlab_theory.claims import Beyond, ControlFinding, Finding, Findings, Identity, Instead, Paired, Verdict
from attnlab_theory.claims.statement import LEAST, Statement
from attnlab_theory.labs import estimates
from attnlab_theory.labs.estimates import ERROR_RATE, Estimate
from attnlab_theory.plurals import several, spelt
from attnlab_theory.report.table import by_control
from attnlab_theory.stats import Interval
from attnlab_theory.stats.bounds import refuse_error_rate

REACH = 10.0
"""An interval that reaches further to either side, in standard deviations of a run, gives no verdict. It is a mild
convention: nobody plans for a difference of ten standard deviations. But if one is found, its verdict stands."""

MANY = 100
"""The most runs that are planned to decide one statement."""

NEAR = 3.0
"""A share lies near an end if it is fewer standard deviations of a run away from it. A normal law would then reach
beyond the end."""

PLANS = 10_000
"""Continuations of a run that are drawn for one plan. They give its probability to half a percentage point."""

REPEATS = 50_000
"""Repetitions of a run that are drawn to see how often its interval misses."""


Decides = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Whether intervals with these lower and upper ends would decide a statement."""


class Case(NamedTuple):
    """A statement, and one measured number that it is about."""

    stated: Statement
    estimate: Estimate
    predicted: Interval
    """Where the statement says that the number lies."""
    beyond: tuple[Estimate, ...] = ()
    """How far the number is beyond that of each control, if others tell."""
    instead: Interval | None = None
    """The number of a control, if it has one of its own."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unjudged:
    """A statement about training for which there are too few runs."""

    claim: str
    statement: str
    setting: dict[str, Any]
    runs: int
    """How many runs there are, of the models or of their control."""
    needs: int
    """How many runs a verdict needs."""


class Undecided(NamedTuple):
    """A statement that training runs, or a control that nobody measured, leave INCONCLUSIVE."""

    claim: str
    setting: dict[str, Any]
    runs: int
    """How many runs there are."""
    decide: int | None
    """How many runs would decide it, if they had the mean and the spread of these. None if more than `MANY`."""
    chance: float | None
    """The probability that so many decide it, if runs are normal. None if there is no such number."""
    missing: str = ""
    """The control that nobody measured, if that is why."""


class NearEnd(NamedTuple):
    """A share near 0 or 1 that is judged by a t interval, although its runs are not close to normal."""

    claim: str
    setting: dict[str, Any]
    missed: float
    """How often the interval misses, if runs follow a beta law of the measured mean and spread."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdicts:
    """The findings of a lab, and what it could not judge."""

    findings: Findings
    unjudged: tuple[Unjudged, ...]
    """Statements with too few runs. They are no findings, and no exit code depends on them."""
    family: int
    """How many numbers share the error rate: one for each verdict about training, and those of controls."""
    error_rate: float
    """The probability that any verdict of the family errs."""
    apart: Mapping[float, int]
    """How many findings belong to no family, by their own error rate. Numbers that are counted have the rate 0."""
    undecided: tuple[Undecided, ...]
    """Statements that are INCONCLUSIVE. They are findings, and not as expected unless they are conjectures."""
    not_asked: tuple[Unjudged, ...] = ()
    """Statements that these few runs were not expected to decide, as was declared before any of them."""
    near_ends: tuple[NearEnd, ...]
    """Verdicts of the family whose intervals may miss more often than the error rate says."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(each.as_expected for each in self.findings)

    @property
    def of_each(self) -> float:
        """The error rate of one verdict of the family."""
        return self.error_rate / max(self.family, 1)

    def as_json(self) -> dict[str, Any]:
        """The verdicts' part of the record of a run."""
        return {
            "verdicts": {
                "family": self.family,
                "error_rate_of_the_family": self.error_rate,
                "error_rate_of_each": self.of_each,
                "apart": [{"error_rate": rate, "verdicts": count} for rate, count in self.apart.items()],
            },
            "not_judged": [dataclasses.asdict(each) for each in self.unjudged],
            **({"not_asked": [dataclasses.asdict(each) for each in self.not_asked]} if self.not_asked else {}),
        }

    def sentences(self) -> tuple[str, ...]:
        """Lines that say how many verdicts there are, at which error rate, and what is not judged."""
        lines = []
        if self.family == 1:
            lines.append(f"One number about training decides, with the error rate {self.error_rate:g}.")
        elif self.family:
            lines.append(
                f"{self.family} numbers about training decide, those of controls included. They share an error "
                f"rate of {self.error_rate:g}: with at most this probability any verdict on them is wrong, if runs "
                f"are close to normal. Each has {self.of_each:.2g} (Bonferroni). Therefore the interval of such a "
                "number is wider than in a table."
            )
        if self.near_ends:
            worst = max(each.missed for each in self.near_ends)
            lines.append(
                f"{several(len(self.near_ends), 'of them judges', 'of them judge')} a share near 0 or 1, or a "
                "difference of shares. Such runs "
                "are not close to normal. If they follow a beta law of the measured mean and spread, an interval "
                f"misses the mean with probability {worst:.2g} at worst, in place of {self.of_each:.2g}."
            )
        if self.apart:
            counts = ", ".join(f"{count} {_at(rate)}" for rate, count in self.apart.items())
            lines.append(
                "Other verdicts are about single models or about no training. They have error rates of their own: "
                f"{counts}."
            )
        grouped = collections.Counter((each.claim, each.runs, each.needs) for each in self.not_asked)
        for (claim, runs, needs), count in grouped.items():
            settings = "" if count == 1 else f" at {count} settings"
            lines.append(f"{claim}{settings}: not asked with {spelt(runs, 'seed')}: {needs} may decide it.")
        grouped = collections.Counter((each.claim, each.runs, each.needs) for each in self.unjudged)
        for (claim, runs, needs), count in grouped.items():
            has = several(runs, "run")
            settings = "" if count == 1 else f" at {count} settings"
            lines.append(f"{claim}{settings}: not judged: needs {needs} seeds, not {has}.")
        said = ((each.claim, each.verdict, by_control(each)) for each in self.findings)
        decided = collections.Counter(each for each in said if each[-1])
        for (claim, verdict, why), count in decided.items():
            settings = "" if count == 1 else f" at {count} settings"
            lines.append(f"{claim}{settings}: {verdict}: {why}.")
        return (*lines, *map(self._remedy, dict.fromkeys(e.claim for e in self.undecided if not e.missing)))

    def _remedy(self, claim: str) -> str:
        """What would decide a claim that is INCONCLUSIVE, and with what probability."""
        plans = [(e.decide, e.chance) for e in self.undecided if e.claim == claim and not e.missing]
        known = [(number, chance) for number, chance in plans if number is not None and chance is not None]
        some = []
        if known:
            counts, chances = (_range(f"{x:.2g}" for x in sorted(every)) for every in zip(*known, strict=True))
            some.append(
                f"about {counts} training runs in all would decide with probability {chances}, if runs are normal"
            )
        if len(known) < len(plans):
            of_them = f" {len(plans) - len(known)} of them" if known else ""
            some.append(f"{MANY} training runs would not decide{of_them}")
        settings = "" if len(plans) == 1 else f" at {len(plans)} settings"
        return f"{claim}{settings}: INCONCLUSIVE: {'; '.join(some)}."


def verdicts_on(
    statements: Sequence[Statement],
    measured: Sequence[Estimate],
    *,
    experiment: str,
    error_rate: float = ERROR_RATE,
    asked_with: Mapping[str, int] | None = None,
) -> Verdicts:
    """Judge every declared statement at every number that it is about, if there are enough runs.

    Args:
        statements: of the lab.
        measured: the lab's numbers. Findings come in their order.
        experiment: the lab.
        error_rate: of all statements about training together.
        asked_with: the least number of runs with which a statement is asked, by its name. It is declared before any
            run. What is not asked takes no part of the error rate.
    """
    cases = [
        Case(stated, estimate, predicted, stated.beyond(estimate, measured), stated.of_control(estimate, measured))
        for estimate in measured
        for stated in statements
        if stated.asks(estimate) and (predicted := stated.predicts(estimate, measured)) is not None
    ]
    least = asked_with or {}
    early = [
        each for each in cases if each.stated.of_training and each.estimate.runs < least.get(each.stated.name, 0)
    ]
    found = judged([each for each in cases if each not in early], experiment=experiment, error_rate=error_rate)
    return dataclasses.replace(
        found,
        not_asked=tuple(
            Unjudged(
                claim=stated.name,
                statement=stated.statement,
                setting=dict(estimate.setting),
                runs=estimate.runs,
                needs=least[stated.name],
            )
            for stated, estimate, *_ in early
        ),
    )


def judged(cases: Sequence[Case], *, experiment: str, error_rate: float = ERROR_RATE) -> Verdicts:
    """Judge every case for which there are enough runs.

    Args:
        cases: all cases of a lab.
        experiment: the lab.
        error_rate: of all statements about training together.
    """
    enough = [each for each in cases if not each.stated.of_training or each.estimate.runs >= each.stated.least]
    family, whole = _family(enough), _family(cases)
    # Whoever adds runs adds verdicts, too: the least number is that of the family of all.
    needed, at_last = (runs_needed(error_rate / max(count, 1)) for count in (family, whole))
    found: list[Finding] = []
    left: list[Unjudged] = []
    undecided: list[Undecided] = []
    near_ends: list[NearEnd] = []
    apart: collections.Counter[float] = collections.Counter()
    for case in cases:
        stated, estimate = case.stated, case.estimate
        runs = [(each.runs, LEAST) for each in case.beyond if each.over_runs]
        runs += [(estimate.runs, stated.least)] if stated.of_training else []
        few = min((each for each in runs if each[0] < max(each[1], needed)), default=None)
        told = {"claim": stated.name, "setting": dict(estimate.setting), "runs": estimate.runs}
        if few is not None:
            told |= {"runs": few[0], "needs": max(few[1], at_last)}
            left.append(Unjudged(statement=stated.statement, **told))
            continue
        rate = error_rate / max(family, 1)
        found.append(_finding(case, experiment, rate))
        if not stated.of_training:
            apart[estimate.error_rate] += 1
        elif is_near_an_end(estimate):
            near_ends.append(NearEnd(stated.name, dict(estimate.setting), miss_rate(estimate, rate)))
        if found[-1].verdict != Verdict.INCONCLUSIVE:
            continue
        control = found[-1].control
        if control is not None and control.number is None:
            undecided.append(Undecided(**told, decide=None, chance=None, missing=control.what))
        elif open_ := _open(case, rate):
            told |= {"runs": min(each.runs for each, _ in open_)}
            decide, chance = _plan(open_, rate)
            undecided.append(Undecided(**told, decide=decide, chance=chance))
    return Verdicts(
        findings=Findings(found),
        unjudged=tuple(left),
        family=family,
        error_rate=error_rate,
        apart=dict(apart),
        undecided=tuple(undecided),
        near_ends=tuple(near_ends),
    )


def _family(cases: Sequence[Case]) -> int:
    """How many numbers about training decide: each verdict's own, and those of controls, which count once."""
    own = [case.estimate for case in cases if case.stated.of_training]
    controls = {id(each) for case in cases for each in case.beyond if each.over_runs and each.runs >= LEAST}
    return len(own) + len(controls - set(map(id, own)))


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


def runs_that_decide(estimate: Estimate, decides: Decides, error_rate: float) -> int | None:
    """The least number of runs that would decide a statement, if all had the mean and spread of those there are.

    The next runs will have another mean and spread, so as many may fall short. `chance_to_decide` says how often
    they do not. None if more than `MANY`.

    Args:
        estimate: a number about training.
        decides: whether intervals for that number would decide.
        error_rate: of each interval.
    """
    runs = np.arange(estimate.runs + 1, MANY + 1)
    enough = decides(*_ends(estimate.value, _spread(estimate, error_rate), runs, error_rate))
    return int(runs[np.argmax(enough)]) if enough.any() else None


def chance_to_decide(estimate: Estimate, decides: Decides, runs: int, error_rate: float) -> float:
    """The probability that so many runs decide a statement, given those that there are.

    The runs that there are stay, and the others are drawn. Their mean and variance are uncertain, so these are
    drawn first: the law is Student's predictive one. Runs are taken for normal.

    Args:
        estimate: a number about training.
        decides: whether intervals for that number would decide.
        runs: in all, more than there are.
        error_rate: of each interval.
    """
    have, more = estimate.runs, runs - estimate.runs
    spread, draws = _spread(estimate, error_rate), np.random.default_rng(0)
    sigma = spread * np.sqrt((have - 1) / draws.chisquare(have - 1, PLANS))
    moved = sigma * math.sqrt(1 / have + 1 / more) * draws.standard_normal(PLANS)
    among = sigma**2 * draws.chisquare(more - 1, PLANS) if more > 1 else 0.0
    means = estimate.value + moved * more / runs
    squares = (have - 1) * spread**2 + among + moved**2 * have * more / runs
    spreads = np.sqrt(squares / (runs - 1))
    return float(np.mean(decides(*_ends(means, spreads, np.array(runs), error_rate))))


def _plan(open_: Sequence[tuple[Estimate, Decides]], error_rate: float) -> tuple[int | None, float | None]:
    """How many runs would decide all numbers that leave a statement open, and at least with what probability."""
    plans = [runs_that_decide(*each, error_rate) for each in open_]
    known = [runs for runs in plans if runs is not None]
    if len(known) < len(plans):
        return None, None
    runs = max(known)
    fail = sum(1 - chance_to_decide(*each, runs, error_rate) for each in open_)
    return runs, max(0.0, 1 - fail)


def _ends(
    mean: float | np.ndarray, spread: float | np.ndarray, runs: np.ndarray, error_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of t intervals."""
    quantiles = -scipy.special.stdtrit(runs - 1, error_rate / 2)
    reach = spread * quantiles / np.sqrt(runs)
    return mean - reach, mean + reach


def _spread(estimate: Estimate, error_rate: float) -> float:
    """The standard deviation of a run."""
    now = estimate.at(error_rate)
    # An end may be cut where no number can lie: the other one is not.
    radius = max(estimate.value - now.low, now.high - estimate.value)
    return radius * math.sqrt(estimate.runs) / _quantile(estimate.runs, error_rate)


def is_near_an_end(estimate: Estimate) -> bool:
    """Whether an estimate over runs lies fewer than `NEAR` standard deviations of a run from an end of its range.

    Runs that are all equal have an interval that says nothing, so it misses nothing. A file of an older version
    does not say in which range its numbers lie.
    """
    if not estimate.values or not math.isfinite(estimate.within.width):
        return False
    room = min(estimate.value - estimate.within.low, estimate.within.high - estimate.value)
    return room < NEAR * float(np.std(estimate.values, ddof=1))


def miss_rate(estimate: Estimate, error_rate: float) -> float:
    """How often a t interval misses the mean of bounded numbers that follow a beta law of this mean and spread.

    If no beta law spreads as far, the numbers lie at both ends of their range.

    Args:
        estimate: over runs, in a finite range.
        error_rate: of the interval.

    Raises:
        ValueError: if the range is not finite, or the runs are not known one by one.
    """
    if not estimate.values or not math.isfinite(estimate.within.width):
        raise ValueError(f"{estimate.quantity} has no runs in a finite range, so no beta law describes them")
    shares = (np.array(estimate.values) - estimate.within.low) / estimate.within.width
    mean, spread, draws = float(np.mean(shares)), float(np.std(shares, ddof=1)), np.random.default_rng(0)
    size, strength = (REPEATS, len(shares)), mean * (1 - mean) / spread**2 - 1
    if strength > 0:
        repeated = draws.beta(mean * strength, (1 - mean) * strength, size)
    else:
        repeated = (draws.random(size) < mean).astype(float)
    spreads = np.std(repeated, axis=1, ddof=1)
    reach = _quantile(len(shares), error_rate) * spreads / math.sqrt(len(shares))
    # Equal numbers give no interval.
    return float(np.mean((spreads > 0) & (np.abs(np.mean(repeated, axis=1) - mean) > reach)))


def _open(case: Case, error_rate: float) -> list[tuple[Estimate, Decides]]:
    """The numbers about training that leave a statement open, and what would decide each of them.

    A plan asks thousands of intervals. So these say of arrays what `judge`, `_beside` and `_beyond` say of one.
    """
    control, predicted = case.stated.control, case.predicted

    def own(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        refuted = (high < predicted.low) | (low > predicted.high)
        inside = (predicted.low <= low) & (high <= predicted.high)
        supported = inside | (high - low <= case.stated.resolution)
        if isinstance(control, Paired | Instead):
            level = _level(case)
            if level is None or _may_pass(level, predicted):
                return refuted
            supported &= (high < level.low) | (low > level.high)
        return refuted | supported

    def beyond(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        assert isinstance(control, Beyond)
        return (low > control.above) | (high < control.above)

    numbers = [(case.estimate, own)] if case.stated.of_training else []
    numbers += [(each, beyond) for each in case.beyond if each.over_runs]
    now = [(each.at(error_rate), each, decides) for each, decides in numbers]
    return [(each, decides) for at, each, decides in now if not decides(np.array(at.low), np.array(at.high))]


def _quantile(runs: int, error_rate: float) -> float:
    """The half-width of a t interval, in standard errors."""
    return -float(scipy.special.stdtrit(runs - 1, error_rate / 2))


def _finding(case: Case, experiment: str, of_each: float) -> Finding:
    stated, estimate = case.stated, _at_rate(case.estimate, case.stated, of_each)
    finding = estimates.judged(
        estimate,
        experiment=experiment,
        claim=stated.name,
        statement=stated.statement,
        source=stated.source,
        predicted=case.predicted,
        resolution=stated.resolution,
        expect=stated.expect,
    )
    control = _beside_its_control(case, estimate.interval, of_each)
    if control is None:
        return finding
    verdicts = {finding.verdict, control.verdict}
    least = next(each for each in (Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.SUPPORTED) if each in verdicts)
    return dataclasses.replace(finding, control=control, verdict=least)


def _beside_its_control(case: Case, measured: Interval, of_each: float) -> ControlFinding | None:
    """Whether the number is beyond that of the control. A comparison that nobody made leaves this open.

    Args:
        case: the statement.
        measured: where its number lies.
        of_each: the error rate of a number of the family.
    """
    match case.stated.control:
        case Identity():
            return None
        case Paired() | Instead():
            return _beside(case, measured)
        case Beyond(what, above=above):
            if not case.beyond or not all(_tells(each, case.stated) for each in case.beyond):
                return ControlFinding(what=what, number=None, is_difference=True, verdict=Verdict.INCONCLUSIVE)
            every = [(each, each.at(of_each) if each.over_runs else each.interval) for each in case.beyond]
            least, interval = min(every, key=lambda each: each[1].low)
            number = Interval(interval.low - above, interval.high - above)
            name = str(least.setting.get("control", what))
            return ControlFinding(what=name, number=number, is_difference=True, verdict=_beyond(case, interval))
        case unknown:
            assert_never(unknown)


def _beside(case: Case, measured: Interval) -> ControlFinding:
    """A number beside that of a control which needs no other one: 0 if it is a difference, or a level.

    Only a control that lies outside the measured interval, and not inside the prediction, does not pass.
    """
    control, level = case.stated.control, _level(case)
    assert isinstance(control, Paired | Instead)
    paired = isinstance(control, Paired)
    fails = level is not None and not measured.overlaps(level) and not _may_pass(level, case.predicted)
    return ControlFinding(
        what=control.what,
        number=measured if paired else level,
        is_difference=paired,
        verdict=Verdict.SUPPORTED if fails else Verdict.INCONCLUSIVE,
    )


def _level(case: Case) -> Interval | None:
    """What a control that needs no other number has."""
    return Interval.point(0.0) if isinstance(case.stated.control, Paired) else case.instead


def _may_pass(level: Interval, predicted: Interval) -> bool:
    """Whether a control of this level lies inside the prediction."""
    return level.low < predicted.high and level.high > predicted.low


def _beyond(case: Case, interval: Interval) -> Verdict:
    """Whether a number lies above what a control reaches. If it is equal, the control does as well."""
    control = case.stated.control
    assert isinstance(control, Beyond)
    if interval.low > control.above:
        return Verdict.SUPPORTED
    return Verdict.REFUTED if interval.high < control.above else Verdict.INCONCLUSIVE


def _tells(estimate: Estimate, stated: Statement) -> bool:
    """Whether a number is about what the statement is about: training runs, unless it is known without chance."""
    return not stated.of_training or estimate.over_runs or estimate.error_rate == 0


def _at_rate(estimate: Estimate, stated: Statement, of_each: float) -> Estimate:
    """A number of training at the error rate of each of the family. Others keep their own."""
    if not stated.of_training or estimate.error_rate == 0:
        return estimate
    return dataclasses.replace(estimate, interval=estimate.at(of_each), error_rate=of_each)


def _range(told: Iterable[str]) -> str:
    """The least and the greatest of numbers in order, or the only one."""
    every = list(dict.fromkeys(told))
    return every[0] if len(every) == 1 else f"{every[0]} to {every[-1]}"


def _at(rate: float) -> str:
    return f"at {rate:g}" if rate else "without chance"
