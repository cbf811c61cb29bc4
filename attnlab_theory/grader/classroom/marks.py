"""Marks, and the terms on which they are given. Nothing here imports jax."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from attnlab_theory.grader.classroom.hand_ins import HandIn
from attnlab_theory.grader.classroom.rubric import Rubric
from attnlab_theory.grader.classroom.senders import Student
from attnlab_theory.sandbox import fences

Mark = dict[str, Any]
"""A mark as plain values: `reason`, `said`, `by_hand`, `fences`, `judgement` (of `check --json`, or None)."""

MISSING = "missing"
"""The reason of a question for which there is no function."""

NOT_JUDGED = "not judged"
"""The reason of a question that was not judged."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Terms:
    """How a class is graded."""

    rubric: Rubric
    time_limit: float
    """Seconds of processor time for each question."""
    seed: int = 0
    """The seed of the cases, which are the same for all submissions."""
    unfenced: bool = False
    """Whether to believe verdicts that no fence protects."""
    means: frozenset[str] = fences.MEANS
    """The means that may be used for fences. A test uses fewer."""


def by_hand(reason: str, message: str) -> Mark:
    """A mark that only a person can give."""
    return {"reason": reason, "said": message, "by_hand": True, "fences": [], "judgement": None}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attendance:
    """Who of a roster has handed in nothing, and which submissions are nobody's of it."""

    missing: tuple[Student, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One submission and its marks."""

    hand_in: HandIn
    rubric: Rubric
    marks: Mapping[str, Mark]
    """The marks, by the part of the question."""
    copies: tuple[str, ...] = ()
    """The names of other submissions with exactly the same files."""
    students: tuple[Student, ...] = ()
    """Who has handed it in: as the roster names them, else as the entry does."""

    def points(self, part: str) -> float | None:
        """Points for a question; None where a person must decide."""
        mark = self.marks[part]
        if mark["by_hand"]:
            return None
        return self.rubric.points[part] if mark["reason"] == "right" else 0

    @property
    def total(self) -> float | None:
        """Points that are certain; None where a person must decide all."""
        certain = [points for part in self.marks if (points := self.points(part)) is not None]
        return sum(certain) if certain else None

    @property
    def total_text(self) -> str:
        """The points in a table. Empty where a person must decide all: it is no zero."""
        return "" if self.total is None else f"{self.total:g}"

    @property
    def left_open(self) -> list[str]:
        """The questions that a person must decide."""
        return [part for part in self.marks if self.points(part) is None]

    @property
    def missing_fences(self) -> list[str]:
        """The fences that were missing when any question was judged."""
        return list(dict.fromkeys(name for mark in self.marks.values() for name in mark["fences"]))
