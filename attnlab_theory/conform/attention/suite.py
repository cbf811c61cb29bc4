"""The suite of attention: functions of queries, keys and values."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab_theory.conform.attention import snippets
from attnlab_theory.conform.attention.asking import call_of
from attnlab_theory.conform.attention.attacks import ATTACKS, cases_of
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.guessing import guessed
from attnlab_theory.conform.attention.judging import Judge, Outcome
from attnlab_theory.conform.attention.laws import AFTER, BEFORE, Law
from attnlab_theory.conform.attention.shrinking import smallest
from attnlab_theory.conform.suite import HUNG, Row, Suite, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place

MOST_SHRUNK = 3
"""So many counterexamples are made small, whatever it costs."""

COSTLY = ("pairs", "block edges")
"""Identities whose counterexamples stay as they are after the first few."""

CALL = "the call: "
"""What stands before a call in words."""


class Found(NamedTuple):
    """A counterexample."""

    case: Case
    outcome: Outcome


class AttentionSuite(Suite):
    """A function of queries, keys and values, and what it promises."""

    IDENTITIES = (*BEFORE, *ATTACKS, *AFTER)
    CONVENTIONS = tuple(Conventions.__dataclass_fields__)

    def open(self) -> None:
        """Guess the conventions."""
        profile = guessed(self.caller, self.kind, self.declared)
        self.profile, self.failures = profile.lines, profile.failures
        self.judge = Judge(self.caller, profile.way, self.accumulate)
        self._shrunk = 0
        self._counterexamples: dict[Case, str] = {}
        self._refused: set[str] = set()

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        found = self._judged(name)
        self.calls, self.largest = self.judge.calls, self.judge.largest
        return found

    def _judged(self, name: str) -> Row | None:
        contradiction = [line for identity, line in self.failures if identity == name]
        if contradiction:
            return Row(name=name, verdict="fails", line=contradiction[0], tried=1)
        law: Law | None = BEFORE.get(name) or AFTER.get(name)
        if law is not None:
            said = law(self.judge, self.kind)
            self.note(said.line)
            return row_of(name, said)
        return self._attacked(name)

    def _attacked(self, name: str) -> Row | None:
        # A type that is refused is told once, by the identity of that name.
        cases = [case for case in cases_of(name, self.kind, self.judge.way) if case.kind not in self._refused]
        if not cases:
            return None
        found: list[tuple[Case, Outcome]] = []
        worst, loose = 0.0, 0
        for case in cases:
            outcome = self.judge.judge(case)
            if outcome.fails and case.kind == "float64" != name and not outcome.answer.trouble:
                # That float64 is float32 inside is told once, by the identity of that name.
                outcome = self.judge.judge(case, "float32")
            worst = max(worst, outcome.ratio)
            loose += not outcome.judged
            if outcome.fails:
                found.append((case, outcome))
                self.note(outcome.why)
                if self._hung >= HUNG:
                    break
        if not found:
            if loose == len(cases):
                line = "tolerances exceed the range of the values"
                return Row(name=name, verdict="not judged", line=line, tried=len(cases))
            line = f"largest error {worst:.2g} of its tolerance" + (f"; {loose} not judged" if loose else "")
            return Row(name=name, verdict="holds", line=line, tried=len(cases), ratio=worst)
        return self._convention(name, cases, found) or self._failed(name, len(cases), found)

    def _convention(self, name: str, cases: list[Case], found: list[tuple[Case, Outcome]]) -> Row | None:
        """What is told rather than failed: a type that is refused, and float64 that is float32 inside."""
        kinds = ("float64", "float16", "bfloat16")
        if name not in kinds:
            return None
        if len(found) == len(cases) and all(outcome.answer.trouble for _, outcome in found):
            self._refused.add(name)
            return Row(name=name, verdict="convention", line=f"refused: {found[0][1].why}", tried=len(cases))
        if name == "float64" and not any(self.judge.judge(case, "float32").fails for case, _ in found):
            worst = max(outcome.ratio for _, outcome in found)
            line = f"computed in float32: {worst:,.2g} tolerances of float64, within those of float32"
            return Row(name=name, verdict="convention", line=line, tried=len(cases))
        return None

    def _failed(self, name: str, tried: int, found: list[tuple[Case, Outcome]]) -> Row:
        """A failure, with the smallest case that shows it."""
        case, outcome = max(found, key=lambda each: each[1].ratio if np.isfinite(each[1].ratio) else 0.0)
        if not self._hung and (self._shrunk < MOST_SHRUNK or name not in COSTLY):
            self._shrunk += 1
            case, outcome = smallest(self.judge, case, outcome)
        same = self._counterexamples.setdefault(dataclasses.replace(case, seed=0), name)
        line = f"{len(found)} of {tried}: {outcome.why}; {CALL}{call_of(self.judge.way, case)}"
        if same != name:
            line = f"{len(found)} of {tried} fail, at the smallest as '{same}' does"
        worst = max(each.ratio for _, each in found)
        return Row(
            name=name, verdict="fails", line=line, tried=tried, ratio=worst, counterexample=Found(case, outcome)
        )

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        found = [f"gives {got} for {given}" for given, got in self.judge.kinds.items() if got != given]
        if self.judge.printed:
            found.append(f"prints while it is called: {self.judge.printed!r}")
        return found

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the counterexample with the fewest numbers."""
        found = [row.counterexample for row in rows if isinstance(row.counterexample, Found)]
        if not found:
            return []
        least = min(found, key=lambda each: sum(x.size for x in arrays(each.case) if x is not None))
        return snippets.snippet(place, self.judge.way, *least)
