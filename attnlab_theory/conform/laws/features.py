"""The suite of random features: maps of rows, and attention that is made of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab_theory.conform import scales
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.laws import approximations, estimates, snippets
from attnlab_theory.conform.laws.attending import approximation_of
from attnlab_theory.conform.laws.estimates import Features
from attnlab_theory.conform.laws.mapping import mapping_of
from attnlab_theory.conform.suite import Row, Suite, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


class FeatureSuite(Suite):
    """phi(x, seed), features of rows; or f(q, k, v, seed), attention by random features."""

    # What looks back at all calls comes last.
    IDENTITIES = tuple(
        sorted({**estimates.LAWS, **approximations.LAWS}, key=lambda name: name == "inputs unchanged")
    )
    CONVENTIONS = ("framework", "layout", "scale", "kernel")

    def open(self) -> None:
        """Find out which of the two it is, and how it is called."""
        known = [each[0].lower() for each in self.caller.about()["parameters"] or ()]
        self.attends = len(known) > 2 and known[1][:1] == "k" and known[2][:1] == "v"
        if self.attends:
            self.approximation = approximation_of(self.caller, self.declared)
            self.asker, dice = self.approximation.asker, self.approximation.dice
            made = [("judged as", "attention by random features"), *self.approximation.lines()]
        else:
            drawing = mapping_of(self.caller, self.declared)
            self.features, self.asker, dice = Features(drawing), drawing.asker, drawing.dice
            scale = scales.WORDS.get(drawing.scale, drawing.scale)
            formula = {"softmax": "exp(scale q.k)", "gaussian": "exp(-scale |q - k|^2 / 2)"}[drawing.kernel]
            made = [
                ("judged as", "features of rows"),
                ("kernel", f"{formula} ({'declared' if 'kernel' in self.declared else 'guessed'})"),
                ("scale", scale),
            ]
        projected = not self.attends and "projection" in self.features.drawing.names
        source = "projections are handed over" if projected else str(dice)
        shared = [("framework", self.asker.framework), ("layout", " ".join(self.asker.layout))]
        self.profile = [*shared, *made, ("randomness", source)]

    def row(self, name: str) -> Row | None:
        """Try one law."""
        if self.attends:
            if name not in approximations.LAWS:
                return None
            said = approximations.LAWS[name](self.approximation)
        else:
            if name not in estimates.LAWS:
                return None
            said = estimates.LAWS[name](self.features)
        self.note(said.trouble)
        self.calls = self.asker.calls
        return row_of(name, said)

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet that shows the mean of many draws beside what is right."""
        if not any(row.verdict is Verdict.FAILS and row.name in snippets.OF_FEATURES for row in rows):
            return []
        if self.attends:
            return snippets.of_attention(place, self.approximation)
        return snippets.of_features(place, self.features.drawing)

    def notes(self) -> list[str]:
        """What was seen on the way."""
        return self.asker.notes()
