"""Whether float64 is computed in float64, or in float32 somewhere inside.

That is a choice. The row `float64` tells it, and every other row judges float64 by the tolerance of float32 then.

Where there is a reference, the answers themselves say it. A target that is compared with itself is asked before it
is accused, in two ways. A call is watched: does an array narrower than float64 take part (`watching`)? And inputs
are changed by 2^-28 and by 2^-16, with the same signs: every output must move in that proportion (`narrower`). A
smooth function bends by 2^-16 of the move, and float64 rounds by n S 2^-25 of it. A step of float32 is 2^-24,
sixteen times the smaller change. Where the proportion is off by a 64th of the larger move, something is rounded to
float32.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np


class Judged(Protocol):
    """What an answer is worth."""

    @property
    def ratio(self) -> float:
        """The largest error over its tolerance; infinite where there is no answer."""
        ...


SLIGHT, FIRM = 2.0**-28, 2.0**-16
"""Relative changes, of which float32 feels the second alone."""

Arrays = Sequence[np.ndarray]
Answers = Callable[[Arrays], "np.ndarray | None"]
"""The output at some inputs; None if the call fails."""


J = TypeVar("J", bound=Judged)


class Precision:
    """In which type the answers to float64 were computed, as far as they were judged."""

    def __init__(self) -> None:
        self.excess = 0.0
        """The largest error over the tolerance of float64 that was within that of float32; 0 if none was."""

    def judged(self, kind: str, judge: Callable[[str | None], J], inside: Callable[[], bool] = lambda: True) -> J:
        """One answer by the tolerance of its own type; of float64, by that of float32 where it keeps that alone.

        Args:
            kind: the type that was handed over.
            judge: judges the answer by the tolerance of a type; None is its own.
            inside: whether the target computes in float32 somewhere. It is asked before anybody is accused.
        """
        found = judge(None)
        if kind == "float64" and 1 < found.ratio < np.inf and inside():
            coarse = judge("float32")
            if coarse.ratio <= 1:
                self.excess = max(self.excess, found.ratio)
            return coarse
        return found

    def line(self) -> str:
        """What the row `float64` tells; empty if every answer kept the tolerance of float64."""
        return told(self.excess) if self.excess else ""


def told(excess: float) -> str:
    """That float64 is float32 inside, in words.

    Args:
        excess: the largest error over the tolerance of float64.
    """
    return f"computed in float32: {excess:,.2g} tolerances of float64, within those of float32"


def changed(given: Arrays, size: float) -> list[np.ndarray]:
    """Every number of the inputs times 1 + size or 1 - size, by chance, in the type of the input."""
    r = np.random.default_rng(0)
    return [(x * (1 + size * r.choice([-1.0, 1.0], x.shape))).astype(x.dtype) for x in given]


def narrower(answers: Answers, given: Arrays) -> bool:
    """Whether float64 is answered in a narrower type somewhere, where a slight change acts out of proportion."""
    one, slight, firm = (answers(changed(given, h)) for h in (0.0, SLIGHT, FIRM))
    if one is None or slight is None or firm is None:
        return False
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(firm - one) * (SLIGHT / FIRM)
        residual = np.nan_to_num(slight - one) - expected
    return bool(np.abs(residual).max(initial=0.0) > np.abs(expected).max(initial=0.0) / 64)
