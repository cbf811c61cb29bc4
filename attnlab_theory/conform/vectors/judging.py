"""What judges of the vectors of some operators have in common."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.rounding import HALF_EPS, coarser
from attnlab_theory.conform.suite import Row
from attnlab_theory.conform.vectors.reading import Vector


class Judge(abc.ABC):
    """A target, asked what the vectors of some operators ask.

    Raises:
        ValueError: if the target can be called in no way.
    """

    OPERATORS: ClassVar[Sequence[str]]
    """Those of ONNX whose vectors it asks."""
    CONVENTIONS: ClassVar[Collection[str]]
    """What a user may declare."""

    def __init__(self, caller: Caller, declared: Mapping[str, Any], accumulate: str | None = None) -> None:
        self.caller, self.declared, self.accumulate = caller, declared, accumulate
        self.profile: list[tuple[str, str]] = []
        self.calls = 0
        self.largest = 0.0
        self.open()

    @abc.abstractmethod
    def open(self) -> None:
        """Find out how the target wants to be called, and fill the profile."""

    @abc.abstractmethod
    def judged(self, vector: Vector) -> Row:
        """Ask one vector.

        Raises:
            Unsayable: if the target has no argument for something.
        """

    def refused(self, vector: Vector, kind: str, trouble: Trouble, call: str) -> Row:
        """A row of a call that gave nothing: half precision may be refused."""
        if kind not in ("float32", "float64"):
            return row_of(vector, Verdict.CONVENTION, f"refused: {trouble}", trouble=trouble)
        line = f"{trouble}; the call: {call}"
        return row_of(vector, Verdict.FAILS, line, ratio=np.inf, trouble=trouble, case=call)

    def compared(self, vector: Vector, outputs: Sequence["Compared"], call: str) -> Row:
        """A row of answers beside those of a vector."""
        worst = max(outputs, key=lambda each: each.ratio)
        own = f"{max(each.theirs for each in outputs):.2g} of ONNX's"
        if worst.ratio > 1:
            line = f"{worst.said}, {worst.ratio:,.3g} tolerances off, {own}; the call: {call}"
            return row_of(vector, Verdict.FAILS, line, ratio=worst.ratio, case=call)
        if all(each.loose for each in outputs):
            return row_of(vector, Verdict.NOT_JUDGED, "the tolerance exceeds the range of the values")
        self.largest = max(self.largest, worst.ratio)
        return row_of(vector, Verdict.HOLDS, f"error {worst.ratio:.2g} of its tolerance, {own}", ratio=worst.ratio)


def row_of(vector: Vector, verdict: Verdict, line: str, **more: Any) -> Row:
    """A row of one vector."""
    return Row(name=vector.name, verdict=verdict, line=line, tried=1, **more)


class Compared:
    """An array beside that of a vector.

    Args:
        what: the array, in a word.
        found: what the target gave, [b h ...].
        right: what ONNX gives.
        most: the largest error of a right answer, theirs included; infinite where any number is right.
        vector: for ONNX's own tolerance.
    """

    def __init__(self, what: str, found: np.ndarray, right: np.ndarray, most: np.ndarray, vector: Vector) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.where(np.isfinite(found), np.abs(found - right), np.inf)
            ratios = np.where(np.isinf(most), 0.0, off / most)
        place = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        self.ratio = float(ratios[place])
        self.theirs = float((off / (vector.atol + vector.rtol * np.abs(right))).max())
        self.said = f"{what} {found[place]:.7g} where {right[place]:.7g} is right, at {[*map(int, place)]}"
        self.loose = bool((most >= np.ptp(right)).all())


def rounds(given: str, answered: str) -> str:
    """The type of the two that rounds more; an answer of another type counts as what was given."""
    return coarser(given, answered) if answered in HALF_EPS else given
