"""Declared kinds as suites, so that they stand beside those that are not declared yet: findings become rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from attnlab_theory.conform import say, show
from attnlab_theory.conform.calling import Uncallable
from attnlab_theory.conform.finding import Finding, Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.suite import Row, Suite

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


class DeclaredSuite(Suite):
    """A target, and the kind that it promises."""

    DECLARATION: ClassVar[Kind]

    def open(self) -> None:
        """Search how the target is called."""
        try:
            self.judge = Judge(self.DECLARATION, self.caller, self.declared)
        except Uncallable as error:
            raise ValueError(say.uncallable(self.caller.name, error)) from None
        self.profile = say.profile(self.judge)

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        found = self.judge.find(name)
        self.calls, self.largest = self.judge.calls, self.judge.largest
        if found.verdict is Verdict.NOT_TRIED:
            return None
        return Row(
            name=name,
            verdict=found.verdict,
            line=say.line(found, self.judge),
            tried=found.tried,
            ratio=found.ratio,
            counterexample=found if found.case is not None else None,
            trouble=found.trouble,
            case=found.case.call(self.judge.convention.names) if found.case else "",
        )

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        return say.notes(self.judge)

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the smallest counterexample."""
        found = [row.counterexample for row in rows if row.verdict is Verdict.FAILS]
        shown = [
            (each.case.numbers, i, each) for i, each in enumerate(found) if isinstance(each, Finding) and each.case
        ]
        if not shown:
            return []
        convention = self.judge.convention
        return show.snippet(place, self.caller.about(), convention, self.DECLARATION.axes, min(shown)[2])


def suite_of(kind: Kind) -> type[DeclaredSuite]:
    """The class of suites that judges a declared kind."""
    fields = {"DECLARATION": kind, "IDENTITIES": tuple(kind.laws), "CONVENTIONS": ("framework", *kind.choices)}
    return type("Suite", (DeclaredSuite,), fields)
