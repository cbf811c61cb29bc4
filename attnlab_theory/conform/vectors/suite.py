"""The suite of ONNX's vectors: a row for each of an operator. What a target has no argument for cannot fail."""

import collections
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds.recurrence import EXTRA
from attnlab_theory.conform.likely import positions
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.suite import Row, Suite
from attnlab_theory.conform.vectors.attending import Attending
from attnlab_theory.conform.vectors.judging import Judge
from attnlab_theory.conform.vectors.reading import Vector, vectors
from attnlab_theory.conform.vectors.recurring import Recurring
from attnlab_theory.conform.vectors.saying import Unsayable
from attnlab_theory.conform.vectors.turning import Turning

JUDGES: Mapping[str, type[Judge]] = {
    "attention": Attending,
    "rotary": Turning,
    "recurrence": Recurring,
}
"""Who asks a target, by what it is."""

LASTING = ("state", "initial_state", "recurrent_state", "h0", "s0", "past_state")
"""What the state of a recurrence is called, where attention calls nothing so."""


class Names(Collection[str]):
    """The names of the vectors, which nobody knows before onnx is imported."""

    def __contains__(self, name: object) -> bool:
        return name in [*self]

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in vectors())

    def __len__(self) -> int:
        return len(vectors())


class OnnxSuite(Suite):
    """Attention, a rotation or a recurrence, and the answers that ONNX expects of it."""

    IDENTITIES = Names()
    CONVENTIONS = ("operator", *dict.fromkeys(name for judge in JUDGES.values() for name in judge.CONVENTIONS))

    def open(self) -> None:
        """See what the target is, and how it is called."""
        self._vectors: dict[str, Vector] = {each.name: each for each in vectors()}
        declared = dict(self.declared)
        what = declared.pop("operator", None)
        mark = " (guessed)" if what is None else " (declared)"
        what = operator_of(self.caller.about()) if what is None else what
        if what not in JUDGES:
            raise ValueError(f"an operator is {', '.join(JUDGES)}, not {what!r:.40}")
        judge = JUDGES[what]
        if strange := sorted(declared.keys() - {*judge.CONVENTIONS}):
            raise ValueError(f"{strange[0]} says nothing of {self.caller.name}, which is taken for {what}")
        self.judge = judge(self.caller, declared, self.accumulate)
        counts = collections.Counter(each.operator for each in self._vectors.values())
        asked = ", ".join(f"{name} ({counts[name]})" for name in judge.OPERATORS)
        self.profile = [("taken for", f"{what}{mark}: asked {asked}"), *self.judge.profile]
        rest = [f"{name} ({count})" for name, count in counts.items() if name not in judge.OPERATORS]
        self._left = f"not asked, for it is taken for {what}: the vectors of {', '.join(rest)}"
        self.calls = self.judge.calls

    def row(self, name: str) -> Row | None:
        """Try one vector; None of another operator."""
        vector = self._vectors[name]
        if vector.operator not in self.judge.OPERATORS:
            return None
        try:
            row = self.judge.judged(vector)
        except Unsayable as error:
            row = Row(name=name, verdict=Verdict.NOT_JUDGED, line=f"cannot be said: {error}", tried=0)
        self.calls, self.largest = self.judge.calls, self.judge.largest
        return row

    def notes(self) -> list[str]:
        """Which vectors are not asked."""
        return [self._left]


def operator_of(about: Mapping[str, Any]) -> str:
    """What a target seems to be, by the names of its parameters: a key of `JUDGES`."""
    if positions(dict(about)) == "rotary":
        return "rotary"
    names = {each[0].lower() for each in (about["parameters"] or ())[3:]}
    told = {*LASTING, *(name for role in EXTRA for name in OPERANDS[role].spellings)}
    return "recurrence" if names & told else "attention"
