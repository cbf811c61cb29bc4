"""The suite of dropout: attention some of whose weights are dropped at random."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab_theory.conform import scales
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.laws import snippets
from attnlab_theory.conform.laws.drawing import drawing_of
from attnlab_theory.conform.laws.drops import LAWS, Dropping
from attnlab_theory.conform.suite import Row, Suite, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


class DropoutSuite(Suite):
    """A function of queries, keys, values and a rate."""

    IDENTITIES = tuple(LAWS)
    CONVENTIONS = ("framework", "layout", "scale")

    def open(self) -> None:
        """Find out how it is called."""
        drawing = drawing_of(self.caller, self.declared)
        self.dropping = Dropping(drawing)
        scale = scales.WORDS.get(drawing.scale, drawing.scale)
        used = [f"{name} ({role})" for role, name in drawing.names.items()]
        self.profile = [
            ("framework", drawing.asker.framework),
            ("layout", " ".join(drawing.asker.layout)),
            ("scale", scale),
            ("arguments by name", ", ".join(used)),
            ("randomness", str(drawing.dice)),
        ]

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        if name == "mean" and not self.dropping.where:
            LAWS["factor"](self.dropping)
        said = LAWS[name](self.dropping)
        self.note(said.trouble)
        self.calls, self.largest = self.dropping.drawing.asker.calls, self.dropping.largest
        return row_of(name, said)

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet that shows what is dropped."""
        if not any(row.verdict is Verdict.FAILS and row.name in snippets.OF_DROPOUT for row in rows):
            return []
        return snippets.of_dropout(place, self.dropping.drawing)

    def notes(self) -> list[str]:
        """What was seen on the way."""
        return self.dropping.drawing.asker.notes()
