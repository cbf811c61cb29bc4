"""The suite of linear attention: functions of queries, keys and values with a stated feature map."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab_theory.conform.attention.layouts import LAYOUTS
from attnlab_theory.conform.attention.masks import CODE
from attnlab_theory.conform.finding import Fault, Verdict
from attnlab_theory.conform.linear import laws
from attnlab_theory.conform.linear.attacks import ATTACKS, cases_of
from attnlab_theory.conform.linear.cases import Case, arrays, lines
from attnlab_theory.conform.linear.conventions import Conventions
from attnlab_theory.conform.linear.guessing import guessed
from attnlab_theory.conform.linear.judging import Judge, Outcome
from attnlab_theory.conform.suite import CALL, HUNG, Row, Said, Suite, Wrong, failed, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place

MOST_SHRUNK = 30
"""Calls that one counterexample may cost."""


class Found(NamedTuple):
    """A counterexample."""

    case: Case
    outcome: Outcome


class LinearSuite(Suite):
    """A function of queries, keys and values, and what a feature map makes of them."""

    HAS_CASES = True
    IDENTITIES = (*ATTACKS, *laws.LAWS)
    CONVENTIONS = tuple(Conventions.__dataclass_fields__)

    def open(self) -> None:
        """Guess the conventions."""
        self.asker, profile = guessed(self.caller, self.declared)
        self.way, self.profile, self.failures = profile
        self.judge = Judge(self.asker, self.way, self.accumulate)

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        contradiction = [wrong for identity, wrong in self.failures if identity == name]
        if contradiction:
            found = row_of(name, failed(contradiction[0]))
        elif name in laws.LAWS:
            said: Said = laws.LAWS[name](self.judge)
            self.note(said.trouble)
            found = row_of(name, said)
        else:
            found = self._attacked(name)
        self.calls, self.largest = self.asker.calls, self.judge.largest
        return found

    def _attacked(self, name: str) -> Row | None:
        cases = cases_of(name, self.way)[: self.most_cases]
        if not cases:
            return None
        found, worst, loose = [], 0.0, 0
        for case in cases:
            outcome = self.judge.judge(case)
            if outcome.why:
                found.append(Found(case, outcome))
                self.note(outcome.answer.trouble)
                if self._hung >= HUNG:
                    break
            worst, loose = max(worst, outcome.ratio), loose + (not outcome.judged)
        if found:
            return self._refused(name, cases, found) or self._failed(name, len(cases), found)
        if name == "float64" and (line := self.judge.precision.line()):
            return Row(name=name, verdict=Verdict.CONVENTION, line=line, tried=len(cases))
        if loose == len(cases):
            line = "tolerances exceed the range of the values"
            return Row(name=name, verdict=Verdict.NOT_JUDGED, line=line, tried=len(cases))
        line = f"largest error {worst:.2g} of its tolerance" + (f"; {loose} not judged" if loose else "")
        return Row(name=name, verdict=Verdict.HOLDS, line=line, tried=len(cases), ratio=worst)

    def _refused(self, name: str, cases: Sequence[Case], found: Sequence[Found]) -> Row | None:
        """A type that is refused is told."""
        if name not in ("float64", "float16", "bfloat16"):
            return None
        if len(found) == len(cases) and all(each.outcome.answer.trouble for each in found):
            trouble = found[0].outcome.answer.trouble
            line = f"refused: {trouble}"
            return Row(name=name, verdict=Verdict.CONVENTION, line=line, tried=len(cases), trouble=trouble)
        return None

    def _failed(self, name: str, tried: int, found: Sequence[Found]) -> Row:
        worst = max(found, key=lambda each: each.outcome.ratio if np.isfinite(each.outcome.ratio) else 0.0)
        least = worst if self._hung else self._shrunk(worst)
        call = self.judge.call_of(least.case)
        wrong = Wrong(f"{least.outcome.why}; {CALL}{call}", least.outcome.answer.trouble, call)
        said = failed(wrong, f"{len(found)} of {tried}: ", tried, ratio=worst.outcome.ratio, counterexample=least)
        row = row_of(name, said)
        assert row is not None
        return row

    def _shrunk(self, found: Found) -> Found:
        """A smaller case that fails in the same way."""
        left, raises, shrunk = MOST_SHRUNK, bool(found.outcome.answer.trouble), True
        while shrunk and left > 0:
            shrunk = False
            for case in _simpler(found.case, self.way):
                left -= 1
                outcome = self.judge.judge(case)
                trouble = outcome.answer.trouble
                is_made = trouble is None or trouble.fault is not Fault.NOT_CALLED
                if outcome.why and bool(trouble) == raises and is_made:
                    found, shrunk = Found(case, outcome), True
                    break
        return found

    def notes(self) -> list[str]:
        """What was seen on the way."""
        return self.asker.notes()

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the counterexample with the fewest numbers."""
        found = [row.counterexample for row in rows if isinstance(row.counterexample, Found)]
        if not found:
            return []
        case, outcome = min(found, key=lambda each: sum(x.size for x in arrays(each.case)[:3]))
        framed = "torch.from_numpy({x})" if self.way.framework == "torch" else "{x}"
        handed = [framed.format(x=LAYOUTS[self.way.layout].format(x=x)) for x in "qkv"]
        spread = "" if "b" in self.way.layout else "[0]"
        for name in self.way.masks(arrays(case)[3]):
            value = CODE.get(self.way.mask, "{x}").format(x="mask") + spread
            handed.append(f"{name}={framed.format(x=value)}")
        handed += [f"{name}={x!r}" for name, x in self.way.plain(case).items()]
        shown = ["import sys", "import numpy as np", *["import torch"] * (self.way.framework == "torch")]
        shown += [
            f"sys.path.insert(0, {place.folder!r})",
            f"from {place.module} import {place.names.partition('.')[0]}",
        ]
        shown += [*lines(case), f"out = {place.names}({', '.join(handed)})"]
        if not outcome.place:
            return [*shown, f"print(out)  # {outcome.why}"]
        axes = dict(zip("bhtd", outcome.place, strict=True))
        index = ", ".join(str(axes[axis]) for axis in self.way.layout)
        return [*shown, f"print(out[{index}], 'where {outcome.right:.9g} is right')"]


def _simpler(case: Case, way: Conventions) -> Iterator[Case]:
    """Simpler cases, the boldest first."""
    plain: Mapping[str, object] = {"strided": False, "padded": False, "kind": "float32"}
    for field, value in plain.items():
        if getattr(case, field) != value:
            yield dataclasses.replace(case, **{field: value})
    if case.values == "plain":
        yield dataclasses.replace(case, values="whole")
    elif case.values != "whole":
        yield dataclasses.replace(case, values="plain")
    for field in ("batch", "heads"):
        if getattr(case, field) > 1:
            yield dataclasses.replace(case, **{field: 1})
    if case.queries == case.keys:
        for size in dict.fromkeys((1, case.keys // 2, case.keys - 1)):
            if 0 < size < case.keys:
                yield dataclasses.replace(case, queries=size, keys=size)
    for fields in (("width", "value_width"),) if way.same_width else (("width",), ("value_width",)):
        if getattr(case, fields[0]) > 1:
            yield dataclasses.replace(case, **dict.fromkeys(fields, 1))
