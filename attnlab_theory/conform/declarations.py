"""Declared kinds as suites, beside that of ONNX's vectors, which is none: `report` makes rows of their findings."""

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

from attnlab_theory.conform import report, show
from attnlab_theory.conform.callers import Caller, Direct, Place
from attnlab_theory.conform.finding import Fault, Finding, Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.operands import is_off
from attnlab_theory.conform.suite import Row, Suite


class DeclaredSuite(Suite):
    """A target, and the kind that it promises."""

    DECLARATION: ClassVar[Kind]

    def open(self) -> None:
        """Search how the target is called."""
        if self.accumulate is not None and self.DECLARATION.right is None:
            raise ValueError(f"--accumulate says nothing of --as {self.name}: the target is compared with itself")
        known: dict[str, Any] = dict(self.declared)
        other: Any = known.pop("against", None)
        if other is not None:
            other = self.recorded(other if hasattr(other, "about") else Direct(other))
        names = [each[0].lower() for each in self.caller.about()["parameters"] or ()]
        kind = self.DECLARATION.instead(names) or self.DECLARATION
        judged = functools.partial(Judge, accumulate=self.accumulate, other=other)
        self.judge, self.profile = report.searched(kind, self.caller, known, self.name, judged)

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        self.judge.most_cases = self.most_cases
        found = self.judge.find(name)
        self.calls = self.judge.calls + (self.judge.other.calls if self.judge.other else 0)
        self.largest = self.judge.largest
        return None if found.verdict is Verdict.NOT_TRIED else report.row_of(found, self.judge)

    def against(self, caller: Caller) -> None:
        """Compare with another target; what is declared of numbers holds for both.

        Raises:
            ValueError: if the kind compares nothing.
        """
        if "against" not in self.IDENTITIES:
            super().against(caller)
        own = {name: x for name, x in self.declared.items() if name not in ("layout", "mask", "framework")}
        name, caller = caller.name, self.recorded(caller)
        with report.refused_in_words(caller, self.DECLARATION, self.name):
            self.judge.other = Judge(self.DECLARATION, caller, own, self.accumulate)
        self.profile.append(("against", name))

    @property
    def failures(self) -> list[tuple[str, str]]:
        """What trial calls contradict, by identity."""
        return [
            (name, report.row_of(x, self.judge).line) for name, x in self.judge.convention.contradictions.items()
        ]

    @property
    def never_passed(self) -> list[str]:
        """The parameters of the target that are bound to no operand, or whose meaning nobody knows."""
        left = [*super().never_passed, *self.judge.unread]
        return [name for name in dict.fromkeys(left) if not is_off(name)]

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        return report.seen(self.judge)

    def snippet(self, place: Place, rows: Sequence[Row]) -> list[str]:
        """A snippet of the smallest counterexample."""
        # A replay calls both of two targets that are compared, and pulls gradients back.
        own = [row for row in rows if row.name in self.IDENTITIES and row.name != "against"]
        found = [row.counterexample for row in own if row.verdict is Verdict.FAILS]
        shown = [
            (each.number is None, each.case.numbers, i, each)
            for i, each in enumerate(found)
            if isinstance(each, Finding) and each.case and is_of_one(each) and "of" not in each.about
        ]
        lines = (show.snippet(place, self.judge, each) for *_, each in sorted(shown) if self._comes_again(each))
        return next(filter(None, lines), [])

    def _comes_again(self, found: Finding) -> bool:
        """Whether one call alone hangs or ends the process, where that is what is shown."""
        if found.case is None or found.trouble is None or found.trouble.fault not in (Fault.HUNG, Fault.ENDED):
            return True
        with self.judge.anew():
            again = self.judge.ask(found.case).trouble
        # A function of this process is the same one, which is not called once more.
        return again is not None and again.fault in (found.trouble.fault, Fault.NOT_CALLED)


def is_of_one(found: Finding) -> bool:
    """Whether one call alone shows what is wrong: by a number, or by what goes wrong with it."""
    if found.trouble is None or found.number:
        return found.number is not None or "statistic" in found.about
    return found.trouble.fault not in (Fault.WROTE, Fault.ANOTHER_ANSWER)


def suite_of(kind: Kind) -> type[DeclaredSuite]:
    """The class of suites that judges a declared kind."""
    is_beside = bool(kind.ways) or (kind.right is None and "against" in kind.laws)
    kinds = [kind, *filter(None, [kind.instead(["q", "k", "v"])])]
    names = [x for each in kinds for stage in each.stages for x in (*stage.forms, *stage.choices, stage.needs) if x]
    declares = [name for each in kinds for name in each.declares]
    # What looks back at all calls comes last.
    identities = sorted(
        {name: 0 for each in kinds for name in each.laws}, key=lambda name: name == "inputs unchanged"
    )
    fields = {
        "DECLARATION": kind,
        "IDENTITIES": identities,
        # Of positions, the future is a convention.
        "LEAKS": Suite.LEAKS if kind.right is None or kind.placed[:3] == ("q", "k", "v") else (),
        "CONVENTIONS": ("framework", *names, *declares, *["against"] * is_beside),
        "HAS_CASES": kind.right is not None,
    }
    return type("Suite", (DeclaredSuite,), fields)
