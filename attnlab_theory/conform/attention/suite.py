"""The suite of attention: functions of queries, keys and values."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab_theory.conform.attention import snippets
from attnlab_theory.conform.attention.against import Rival
from attnlab_theory.conform.attention.apart import Apart, is_polite
from attnlab_theory.conform.attention.asking import ask, call_of
from attnlab_theory.conform.attention.attacks import ATTACKS, COVERED, cases_of
from attnlab_theory.conform.attention.beside import second_output
from attnlab_theory.conform.attention.biases import large_biases
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.early import early_queries
from attnlab_theory.conform.attention.gradients import gradients
from attnlab_theory.conform.attention.groupings import groupings
from attnlab_theory.conform.attention.guessing import guessed
from attnlab_theory.conform.attention.judging import HALVES, Judge, Outcome
from attnlab_theory.conform.attention.laws import AFTER, BEFORE, Law
from attnlab_theory.conform.attention.parameters import AT_REST
from attnlab_theory.conform.attention.paths import gradient_mode
from attnlab_theory.conform.attention.shrinking import smallest
from attnlab_theory.conform.attention.states import (
    after_refusal,
    flag,
    nothing_to_see,
    outputs_stay,
    repetitions,
    two_objects,
)
from attnlab_theory.conform.attention.unseen import told, unseen_error
from attnlab_theory.conform.finding import Fault, Verdict
from attnlab_theory.conform.suite import HUNG, Row, Suite, failed, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place

MOST_SHRUNK = 3
"""So many counterexamples are made small, whatever it costs."""

LAWS: Mapping[str, Law] = {
    **BEFORE,
    "groupings": groupings,
    "large biases": large_biases,
    "early queries": early_queries,
    "flag": flag,
    "second output": second_output,
    "outputs stay": outputs_stay,
    "repetitions": repetitions,
    "gradients": gradients,
    "gradient mode": gradient_mode,
    "no tokens": nothing_to_see,
    "after a refusal": after_refusal,
    "two objects": two_objects,
    **AFTER,
}

COMPARED = ("against", "differences")
"""What is tried where there is another function to compare with."""

TYPES = ("float64", "float16", "bfloat16")
"""Identities that are types, which may be refused."""

SCALED = ("plain", "feature", "scale", *TYPES)
"""Identities that say how wrong a scale may be that they do not see."""

COSTLY = (*COVERED, "block edges")
"""Identities whose counterexamples stay as they are after the first few."""


class Found(NamedTuple):
    """A counterexample."""

    case: Case
    outcome: Outcome


class AttentionSuite(Suite):
    """A function of queries, keys and values, and what it promises."""

    HAS_CASES = True
    IDENTITIES = tuple(dict.fromkeys((*BEFORE, *ATTACKS, *LAWS, *COMPARED)))
    CONVENTIONS = tuple(Conventions.__dataclass_fields__)

    def open(self) -> None:
        """Guess the conventions."""
        profile = guessed(self.caller, self.kind, self.declared)
        self.profile, self.failures, self._guessed = [*profile.lines], profile.failures, profile
        self.diagnosis = profile.diagnosis
        self._rival: Rival | None = None
        self.judge = Judge(self.caller, profile.way, self.accumulate)
        self._shrunk = 0
        self._counterexamples: dict[Case, str] = {}
        self._refused: set[str] = set()
        self._apart = Apart(self.judge, self.kind)

    def against(self, caller: "Caller") -> None:
        """Compare with another function; what is declared of numbers holds for both."""
        own = {name: x for name, x in self.declared.items() if name not in ("layout", "mask", "framework")}
        name, caller = caller.name, self.recorded(caller)
        other = guessed(caller, self.kind, own)
        self._rival = Rival(self.judge, self.kind, self._guessed, Judge(caller, other.way, self.accumulate), other)
        self.profile.append(("against", name))

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        found = self._judged(name)
        self.calls, self.largest = self.judge.calls, self.judge.largest
        return found

    def _judged(self, name: str) -> Row | None:
        if self.diagnosis and name != "visibility":
            return None
        contradiction = [wrong for identity, wrong in self.failures if identity == name]
        if contradiction:
            return row_of(name, failed(contradiction[0]))
        if name in COMPARED:
            if self._rival is None:
                return None
            return row_of(name, self._rival.compare() if name == "against" else self._rival.differences())
        if (law := LAWS.get(name)) is not None:
            said = law(self.judge, self.kind)
            self.note(said.trouble)
            return row_of(name, said)
        return self._attacked(name)

    def _attacked(self, name: str) -> Row | None:
        found: list[tuple[Case, Outcome]] = []
        cases: list[Case] = []
        worst, loose, rules = 0.0, 0, [0.0]
        self._apart.told.clear()
        for case in itertools.islice(self._cases(name), self.most_cases):
            cases.append(case)
            outcome = self.judge.judge(case)
            trouble = outcome.answer.trouble
            if trouble is not None and trouble.fault is Fault.NOT_CALLED:
                continue
            if name in COVERED and self._apart.explains(case, trouble):
                continue
            worst = max(worst, outcome.ratio)
            loose += not outcome.judged
            rules.append(outcome.rule or 0.0)
            if outcome.fails:
                found.append((case, outcome))
                self.note(trouble)
                if self._hung >= HUNG:
                    break
        if not cases:
            return None
        rule = max(rules) if name in HALVES else None
        if not found:
            if name == "float64" and (line := self.judge.precision.line()):
                return Row(name=name, verdict=Verdict.CONVENTION, line=line, tried=len(cases))
            if loose == len(cases):
                line = "tolerances exceed the range of the values"
                return Row(name=name, verdict=Verdict.NOT_JUDGED, line=line, tried=len(cases))
            line = f"largest error {worst:.2g} of its tolerance" + (f"; {loose} not judged" if loose else "")
            line += told(unseen_error(self.judge, cases)) if name in SCALED else ""
            line += "" if rule is None else f"; {rule:.2g} of what flash-attention's rule allows"
            verdict = Verdict.HOLDS
            if refused := [f"{words}: {trouble}" for words, trouble in self._apart.told.items()]:
                verdict, line = Verdict.CONVENTION, f"{line}; refused: {'; '.join(refused)}"
            return Row(name=name, verdict=verdict, line=line, tried=len(cases), ratio=worst, rule=rule)
        row = self._convention(name, cases, found) or self._failed(name, len(cases), found)
        return dataclasses.replace(row, rule=rule)

    def _cases(self, name: str) -> Iterator[Case]:
        """The cases of an attack. Where some are refused together, those that hold the other pairs."""
        asked: set[Case] = set()
        apart = None
        while apart != self._apart.features:
            apart = self._apart.features
            for case in cases_of(name, self.kind, self.judge.way, apart):
                # A type that is refused is told once, by the identity of that name.
                if case.kind in self._refused and name in COVERED:
                    case = dataclasses.replace(case, kind="float32")
                if case.kind not in self._refused and case not in asked:
                    asked.add(case)
                    yield case
                    if apart != self._apart.features:
                        break

    def _convention(self, name: str, cases: list[Case], found: list[tuple[Case, Outcome]]) -> Row | None:
        """What is told rather than failed: a type that is refused."""
        if name == "non-contiguous" and all(is_polite(outcome.answer.trouble) for _, outcome in found):
            line = "; ".join(f"{case.memory}: {outcome.answer.trouble}" for case, outcome in found)
            trouble = found[0][1].answer.trouble
            return Row(
                name=name, verdict=Verdict.CONVENTION, line=f"refused: {line}", tried=len(cases), trouble=trouble
            )
        if name not in TYPES:
            return None
        if len(found) == len(cases) and all(outcome.answer.trouble for _, outcome in found):
            self._refused.add(name)
            trouble = found[0][1].answer.trouble
            line = f"refused: {trouble}"
            return Row(name=name, verdict=Verdict.CONVENTION, line=line, tried=len(cases), trouble=trouble)
        return None

    def _failed(self, name: str, tried: int, found: list[tuple[Case, Outcome]]) -> Row:
        """A failure, with the smallest case that shows it."""
        case, outcome = max(found, key=lambda each: each[1].ratio if np.isfinite(each[1].ratio) else 0.0)
        if not self._hung and (self._shrunk < MOST_SHRUNK or name not in COSTLY):
            self._shrunk += 1
            case, outcome = smallest(self.judge, case, outcome)
        same = self._counterexamples.setdefault(dataclasses.replace(case, seed=0), name)
        wrong = outcome.wrong(call_of(self.judge.way, case))
        if same != name:
            wrong = wrong._replace(line=f" fail, at the smallest as '{same}' does", case="")
        worst = max(each.ratio for _, each in found)
        where = f"{len(found)} of {tried}" + ": " * (same == name)
        said = failed(wrong, where, tried, counterexample=Found(case, outcome), ratio=worst)
        row = row_of(name, said)
        assert row is not None
        return row

    @property
    def never_passed(self) -> list[str]:
        """The parameters that nothing was handed over for, but for dropout, which is off."""
        return [name for name in self.callers[0].never_passed if name not in AT_REST]

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        found = [f"gives {got} for {given}" for given, got in self.judge.kinds.items() if got != given]
        if self.judge.printed:
            found.append(f"prints while it is called: {self.judge.printed!r}")
        return found

    def _ends_again(self, found: Found) -> bool:
        """Whether a call that hung or ended the process does so in a new one; true of any other counterexample."""
        trouble = found.outcome.answer.trouble
        if trouble is None or trouble.fault not in (Fault.HUNG, Fault.ENDED, Fault.NOT_CALLED):
            return True
        with contextlib.ExitStack() as block:
            return bool(ask(self.callers[0].again(block), self.judge.way, found.case).trouble)

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the counterexample with the fewest numbers, of those that anybody sees to be wrong."""
        found = [row.counterexample for row in rows if isinstance(row.counterexample, Found)]
        found = [each for each in found if self._ends_again(each)]
        if not found:
            return []

        def by_size(each: Found) -> tuple[bool, int]:
            return not each.outcome.is_plain, sum(x.size for x in arrays(each.case) if x is not None)

        least = min(found, key=by_size)
        about = self.caller.about()
        call = "{}" + "()" * bool(about.get("class")) + ".eval()" * bool(about.get("class") and about.get("mode"))
        return snippets.snippet(place, self.judge.way, *least, call)
