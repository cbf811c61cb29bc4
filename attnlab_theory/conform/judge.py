"""The judge of a declared kind: it asks, compares, counts tolerances, and shrinks the recipe of what fails."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.attention.tolerances import HALF_EPS
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calling import Answer, ask, counted, search
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.covering import covering
from attnlab_theory.conform.finding import (
    ANOTHER_ANSWER,
    NOT_FINITE,
    NOT_TRIED,
    Fault,
    Finding,
    Number,
    Trouble,
    Verdict,
)
from attnlab_theory.conform.kind import Kind, Law
from attnlab_theory.conform.operands import OPERANDS

NEAR = 0.02
"""A trial call is explained if its largest error, over the largest number, is at most this."""

MOST_HUNG = 3
"""After so many calls that take too long an identity asks nothing more."""

MOST_SHRUNK = 40
"""Calls that one counterexample may cost."""


class Outcome(NamedTuple):
    """What one answer is worth."""

    case: Case
    ratio: float = 0.0
    """The largest error over its tolerance; infinite where there is no answer or no number."""
    trouble: Trouble | None = None
    number: Number | None = None

    @property
    def fails(self) -> bool:
        """Whether the answer is wrong."""
        return not self.ratio <= 1


class Judge:
    """Judges answers of one target.

    Args:
        kind: what it promises.
        caller: of the target.
        declared: conventions that are known.

    Raises:
        Uncallable: if the target can be called in no way.
    """

    def __init__(self, kind: Kind, caller: Caller, declared: Mapping[str, Any]) -> None:
        self.kind, self.caller = kind, caller
        self.convention = search(kind, caller, declared)
        self.calls, self.hung = 0, 0
        self.largest = 0.0
        """The largest error per tolerance of all answers that were right."""
        self.gives = "float32"
        """The type of the answers, where it is one that has a tolerance."""
        self.printed = ""
        self.narrow = ""
        """The type in which the target computes, where that is narrower than what it gives."""
        self.excess = 0.0
        """The error over the tolerance of the wider type by which that was seen."""
        self._answers: dict[Case, Answer] = {}
        self.ask(self.cases(kind.trials)[0])

    @property
    def explained(self) -> bool:
        """Whether some convention explains the trial call."""
        return self.convention.residual <= NEAR

    def cases(self, sizes: Iterable[tuple[int, ...]]) -> list[Case]:
        """Those that can be asked of some sizes, each once."""
        fitted = [self.convention.fitted(self.kind, Case.of(self.kind.sized, each)) for each in sizes]
        return [*dict.fromkeys(each for each in fitted if each is not None)]

    def ask(self, case: Case) -> Answer:
        """Make one call, and note what it did beside answering."""
        self.calls += 1
        answer = ask(self.caller, self.convention, case, self.kind.axes)
        self.hung += answer.trouble is not None and answer.trouble.costs
        self.printed = self.printed or answer.printed
        self.gives = answer.kind if answer.kind in HALF_EPS else self.gives
        return answer

    def remembered(self, case: Case) -> Answer:
        """The answer to a case, which is asked once."""
        if case not in self._answers:
            self._answers[case] = self.ask(case)
        return self._answers[case]

    def judge(self, case: Case, numbers: np.ndarray | None = None) -> Outcome:
        """Ask, and compare with what is right.

        Args:
            case: what is asked.
            numbers: those that no formula gives; by default those of the target.
        """
        answer = self.ask(case)
        if answer.trouble:
            return Outcome(case, np.inf, answer.trouble)
        kind, chosen = self.kind, self.convention.chosen
        numbers = kind.own(self, case) if numbers is None else numbers
        given, right = counted(kind, case, chosen, answer.numbers), kind.reference(case, chosen, numbers)
        most = kind.tolerance(case, chosen, numbers, self.narrow or self.gives)
        ratio, place = largest(given, right, most)
        if self.gives == "float64" and not self.narrow and 1 < ratio < np.inf:
            coarse = largest(given, right, kind.tolerance(case, chosen, numbers, "float32"))
            if coarse[0] <= 1:
                self.narrow, self.excess, (ratio, place) = "float32", ratio, coarse
        if ratio <= 1:
            self.largest = max(self.largest, ratio)
            return Outcome(case, ratio)
        origin = (*place[:-1], int(kind.origin(case, chosen)[place[-2]]))
        return Outcome(case, ratio, None, Number(float(given[place]), float(right[place]), place, origin))

    def values(self, cases: Iterable[Case], *, refusable: bool = False) -> Finding:
        """Whether every number of some answers is right.

        Args:
            cases: what is asked.
            refusable: whether some of them may be refused, which is told.
        """
        cases, worst, wrong, refused = [*cases], 0.0, [], None
        if not cases:
            return NOT_TRIED
        for case in cases:
            outcome = self.judge(case)
            if refusable and case != cases[0] and outcome.trouble and outcome.trouble.refuses:
                refused = refused or outcome
                continue
            worst = max(worst, outcome.ratio)
            if outcome.fails:
                wrong.append(outcome)
                if self.hung >= MOST_HUNG:
                    break
        if refused and not wrong:
            verdict = Verdict.CONVENTION
            return Finding(
                verdict=verdict, tried=len(cases), ratio=worst, case=refused.case, trouble=refused.trouble
            )
        if not wrong:
            return Finding(verdict=Verdict.HOLDS, tried=len(cases), ratio=worst)
        # A number that is wrong says more than a call that raises.
        least = min(wrong, key=lambda outcome: (outcome.number is None, outcome.case.numbers))
        return self.failed(least, tried=len(cases), failures=len(wrong), ratio=worst)

    def failed(self, outcome: Outcome, **more: Any) -> Finding:
        """A failure, by the smallest case that shows it."""
        least = self._least(outcome)
        found = {"ratio": outcome.ratio, "failures": 1, **more}
        return Finding(verdict=Verdict.FAILS, case=least.case, trouble=least.trouble, number=least.number, **found)

    def _least(self, outcome: Outcome) -> Outcome:
        """A smaller case that fails in the same way: the numbers of its recipe are made less while it fails."""
        # A call that hangs or ends the process costs too much to be made again.
        is_cheap = outcome.trouble is None or outcome.trouble.fault not in (
            Fault.HUNG,
            Fault.ENDED,
            Fault.NOT_CALLED,
        )
        left = shrunk = MOST_SHRUNK * is_cheap
        while shrunk:
            shrunk = False
            for case in self._smaller(outcome.case):
                other = self.judge(case) if left > 0 else None
                left -= 1
                if other is not None and other.fails and _alike(other, outcome):
                    outcome, shrunk = other, True
                    break
        return outcome

    def _smaller(self, case: Case) -> Iterator[Case]:
        """Smaller cases, the boldest first: of all numbers that one parameter may give, then of each."""
        together = [OPERANDS[role].instead for role in self.kind.operands if OPERANDS[role].instead]
        for roles in (*together, *((role,) for role, _ in case.sizes)):
            n = max(case[role] for role in roles)
            for less in dict.fromkeys((1, n // 2, n - n // 4, n - n // 16, n - 1)):
                smaller = case.replaced(**{role: min(case[role], less) for role in roles})
                smaller = self.convention.fitted(self.kind, smaller)
                if 0 < less < n and smaller is not None and smaller != case:
                    yield smaller

    def find(self, identity: str) -> Finding:
        """Try one identity."""
        if not self.explained and identity != next(iter(self.kind.laws)):
            return NOT_TRIED
        narrow = self.narrow
        found = self.kind.laws[identity](self)
        if self.narrow != narrow and found.verdict is Verdict.HOLDS:
            # It is told once; from then on answers are judged by that type.
            about = {"excess": self.excess}
            found = dataclasses.replace(found, verdict=Verdict.CONVENTION, fact="narrow", about=about)
        return dataclasses.replace(found, identity=identity)


def largest(given: np.ndarray, right: np.ndarray, most: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """The largest error over its tolerance, and where. What is no number is infinitely wrong; NaN is not judged."""
    with np.errstate(all="ignore"):
        ratios = np.abs(given - right) / most
    ratios = np.where(given == right, 0.0, np.where(np.isfinite(ratios), ratios, np.inf))
    ratios = np.where(np.isnan(right), 0.0, ratios)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
    return float(ratios[place]), place


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two cases fail in one way: by a number, or by the same trouble of calls that were made."""
    if one.trouble is None or other.trouble is None:
        return one.trouble is other.trouble
    return one.trouble.fault is other.trouble.fault is not Fault.NOT_CALLED


def explained(judge: Judge) -> Finding:
    """The law that some convention explains a trial call."""
    case = judge.cases(judge.kind.trials)[0]
    if judge.explained:
        return Finding(verdict=Verdict.HOLDS, fact="explained", ratio=0.0)
    numbers = judge.kind.numbers(judge.ask(case).numbers, case, judge.convention.chosen)
    outcome = judge.judge(case, numbers)
    return Finding(verdict=Verdict.FAILS, number=outcome.number, case=case, fact="unexplained", failures=1)


def right_at(sizes: Iterable[tuple[int, ...]]) -> Law:
    """The law that every number is right at some sizes."""
    sizes = [*sizes]
    return lambda judge: judge.values(judge.cases(sizes))


def right_at_pairs(columns: Mapping[str, Sequence[Any]]) -> Law:
    """The law that every number is right wherever two features of the sizes stand beside each other.

    Args:
        columns: the features, in the order of the roles. Several roles of one feature are a tuple.
    """
    rows = [[x if isinstance(x, tuple) else (x,) for x in row.values()] for row in covering(columns)]
    return right_at(tuple(itertools.chain(*row)) for row in rows)


def again(case: tuple[int, ...], between: Iterable[tuple[int, ...]]) -> Law:
    """The law that the same call gives the same bits, also after other calls.

    Args:
        case: sizes of the call.
        between: sizes of the other calls.
    """

    def law(judge: Judge) -> Finding:
        (same,) = judge.cases([case])
        others = judge.cases(between)
        first = judge.ask(same)
        for other in (same, *others):
            judge.ask(other)
            second = judge.ask(same)
            if first.trouble != second.trouble or not np.array_equal(first.numbers, second.numbers, equal_nan=True):
                return Finding(verdict=Verdict.FAILS, trouble=ANOTHER_ANSWER, case=same, tried=1 + len(others))
        return Finding(verdict=Verdict.HOLDS, fact="again", tried=1 + len(others))

    return law


def steady(name: str, sizes: Iterable[tuple[int, ...]]) -> Law:
    """The law that a convention which is read off answers is the same at every size; it is told.

    Args:
        name: of the convention.
        sizes: of the calls.
    """

    def law(judge: Judge) -> Finding:
        first = judge.convention.chosen[name]
        for case in judge.cases(sizes):
            answer = judge.ask(case)
            if answer.trouble or np.isnan(answer.numbers).any():
                return Finding(verdict=Verdict.FAILS, case=case, trouble=answer.trouble or NOT_FINITE)
            then = judge.kind.known(answer.numbers, case, judge.convention.chosen).get(name, first)
            if not then or then != first:
                about = {"convention": name, "first": first, "then": then}
                return Finding(verdict=Verdict.FAILS, case=case, fact="changes", about=about)
        return Finding(verdict=Verdict.CONVENTION, fact="chosen", about={"convention": name, "first": first})

    return law
