"""Declared kinds as suites, so that they stand beside those that are not declared yet: findings become rows."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attnlab_theory.conform import say, show
from attnlab_theory.conform.callers import Caller, Direct, Place
from attnlab_theory.conform.calling import Uncallable, search
from attnlab_theory.conform.finding import Fault, Finding, Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.operands import is_off
from attnlab_theory.conform.suite import Refused, Row, Suite


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
        with refused_in_words(self.caller, kind, self.name):
            self.judge = Judge(kind, self.caller, known, self.accumulate, other)
        self.profile = say.profile(self.judge.convention, kind, known, self.judge.gives)

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        self.judge.most_cases = self.most_cases
        found = self.judge.find(name)
        self.calls = self.judge.calls + (self.judge.other.calls if self.judge.other else 0)
        self.largest = self.judge.largest
        return None if found.verdict is Verdict.NOT_TRIED else row_of(found, self.judge)

    def against(self, caller: Caller) -> None:
        """Compare with another target; what is declared of numbers holds for both.

        Raises:
            ValueError: if the kind compares nothing.
        """
        if "against" not in self.IDENTITIES:
            super().against(caller)
        own = {name: x for name, x in self.declared.items() if name not in ("layout", "mask", "framework")}
        name, caller = caller.name, self.recorded(caller)
        with refused_in_words(caller, self.DECLARATION, self.name):
            self.judge.other = Judge(self.DECLARATION, caller, own, self.accumulate)
        self.profile.append(("against", name))

    @property
    def failures(self) -> list[tuple[str, str]]:
        """What trial calls contradict, by identity."""
        return [(name, say.line(x, self.judge)) for name, x in self.judge.convention.contradictions.items()]

    @property
    def never_passed(self) -> list[str]:
        """The parameters of the target that are bound to no operand, or whose meaning nobody knows."""
        left = [*super().never_passed, *self.judge.unread]
        return [name for name in dict.fromkeys(left) if not is_off(name)]

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        return say.notes(self.judge)

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


def row_of(found: Finding, judge: Judge) -> Row:
    """A finding in words."""
    return Row(
        name=found.identity,
        verdict=found.verdict,
        line=say.line(found, judge),
        brief=say.brief(found),
        tried=found.tried,
        ratio=found.ratio,
        counterexample=found if found.case is not None else None,
        trouble=found.trouble,
        case=judge.convention.call(found.case) if found.case else "",
        rule=found.about.get("rule"),
    )


def searched(
    kind: Kind, caller: Caller, declared: Mapping[str, Any], name: str, by: Callable[..., Any] = search
) -> tuple[Any, list[tuple[str, str]]]:
    """How a target is called, by a search or by a judge, and that in words; name is that of the kind.

    Raises:
        ValueError: if it can be called in no way.
    """
    with refused_in_words(caller, kind, name):
        found = by(kind, caller, declared)
    return found, say.profile(getattr(found, "convention", found), kind, declared)


def rows_of(judge: Judge) -> list[Row]:
    """The rows of all identities of a kind."""
    found = [judge.find(name) for name in judge.kind.laws]
    return [row_of(each, judge) for each in found if each.verdict is not Verdict.NOT_TRIED]


def as_one(name: str, rows: Sequence[Row]) -> Row:
    """Several rows as one: the first that fails, else the one with the largest error."""
    wrong = [row for row in rows if row.verdict is Verdict.FAILS]
    held = [row for row in rows if row.verdict is Verdict.HOLDS]
    row = wrong[0] if wrong else max(held or rows, key=lambda each: each.ratio)
    line = f"{row.name}: {row.line}" if wrong else row.line
    return dataclasses.replace(row, name=name, line=line, tried=sum(each.tried for each in rows))


@contextlib.contextmanager
def refused_in_words(caller: Caller, kind: Kind, name: str = "") -> Iterator[None]:
    """Inside, a target that can be called in no way is refused in one line, which may name the kind."""
    try:
        yield
    except Uncallable as error:
        words = say.uncallable(caller.name, kind, error, name, caller.about().get("uses", ()))
        raise Refused(words, error.troubles) from None


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
