"""All identities of a kind, tried on one target: a row for each."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.asking import call_of
from attnlab_theory.conform.attacks import ATTACKS, cases_of
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.cases import Case
from attnlab_theory.conform.guessing import Profile, guessed
from attnlab_theory.conform.judging import Judge, Outcome
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.conform.laws import AFTER, BEFORE, Law
from attnlab_theory.conform.shrinking import smallest

IDENTITIES = (*BEFORE, *ATTACKS, *AFTER)
"""All that may be tried, in this order."""

MOST_SHRUNK = 3
"""So many counterexamples are made small, whatever it costs."""

COSTLY = ("pairs", "block edges")
"""Identities whose counterexamples stay as they are after the first few."""

CALL = "the call: "
"""What stands before a call in words."""

HUNG = 3
"""After so many calls that take too long nothing more is asked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one identity."""

    name: str
    verdict: str
    """holds, fails, convention, or not judged."""
    line: str
    tried: int
    """How many cases or calls."""
    ratio: float = 0.0
    """The largest error over its tolerance."""
    case: Case | None = None
    """A counterexample."""
    outcome: Outcome | None = None


class Suite:
    """A target and what it promises.

    Args:
        caller: of the target.
        kind: a key of `kinds.KINDS`.
        declared: conventions that are known, by the fields of `Conventions`.
        accumulate: the type of its sums.

    Raises:
        ValueError: if there is no such kind, or the target can be called in no way.
    """

    def __init__(
        self, caller: Caller, kind: str, declared: Mapping[str, Any] | None = None, accumulate: str | None = None
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind!r}; there are {', '.join(KINDS)}")
        self.kind = KINDS[kind]
        self.profile: Profile = guessed(caller, self.kind, declared or {})
        self.judge = Judge(caller, self.profile.way, accumulate)
        self._shrunk = self._hung = 0
        self._counterexamples: dict[Case, str] = {}

    def rows(self, names: Collection[str] = IDENTITIES) -> Iterator[Row]:
        """Try identities; those for which there is nothing to try have no row.

        Args:
            names: which.
        """
        for name in IDENTITIES:
            if name not in names:
                continue
            if self._hung >= HUNG:
                yield Row(name=name, verdict="not judged", line=f"{HUNG} calls before it hung", tried=0)
            elif (row := self.row(name)) is not None:
                yield row

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        contradiction = [line for identity, line in self.profile.failures if identity == name]
        if contradiction:
            return Row(name=name, verdict="fails", line=contradiction[0], tried=1)
        law: Law | None = BEFORE.get(name) or AFTER.get(name)
        if law is not None:
            said = law(self.judge, self.kind)
            self._note(said.line)
            if said.verdict == "none":
                return None
            return Row(name=name, verdict=said.verdict, line=said.line, tried=said.tried)
        return self._attacked(name)

    def _attacked(self, name: str) -> Row | None:
        cases = cases_of(name, self.kind, self.judge.way)
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
                self._note(outcome.why)
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
        return Row(name=name, verdict="fails", line=line, tried=tried, ratio=worst, case=case, outcome=outcome)

    def _note(self, line: str) -> None:
        self._hung += "took longer than" in line or "not called:" in line
