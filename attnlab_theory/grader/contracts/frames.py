"""Orthonormal frames that Hypothesis can draw and shrink: reflections in small integer vectors.

A Householder reflection I - 2 u u^T / |u|^2 is orthogonal for every u. So no random number is needed, and a
counterexample shrinks to the simplest frame, the coordinate axes.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

Draw = Callable[..., Any]
"""The function that Hypothesis hands to a composite strategy. Its own type cannot be checked at run time."""

REFLECTIONS = st.lists(st.lists(st.integers(-3, 3), max_size=5).map(tuple), max_size=2).map(tuple)
"""Up to two reflections. Each vector is repeated until it fills the space; a zero vector reflects nothing."""


def refuse_unpromised(promises: dict[str, bool]) -> None:
    """Refuse givens that the contract does not promise.

    Raises:
        ValueError: naming the first promise that is not kept.
    """
    for promise, kept in promises.items():
        if not kept:
            raise ValueError(f"the contract promises that {promise}")


WIDEST = 128
"""The largest d of a frame."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """The first `n` rows of a product of reflections of R^d."""

    n: int
    d: int
    # Bare on purpose: a checker that probes random items may not do so while Hypothesis draws.
    reflections: tuple = ()
    """Integer vectors, each as a tuple."""

    def __post_init__(self) -> None:
        entries = [entry for u in self.reflections for entry in u]
        refuse_unpromised(
            {
                f"1 <= n <= d <= {WIDEST}": 1 <= self.n <= self.d <= WIDEST,
                "reflections are a few small whole numbers": len(entries) <= WIDEST
                and all(type(entry) is int and abs(entry) <= 1000 for entry in entries),
            }
        )

    @functools.cached_property
    def rows(self) -> np.ndarray:
        """Orthonormal to rounding, shape (n, d)."""
        full = np.eye(self.d)
        for entries in self.reflections:
            u = np.resize(np.asarray(entries, dtype=np.float64), self.d) if entries else np.zeros(self.d)
            if u.any():
                full = full - np.outer(full @ u, 2 * u / (u @ u))
        return full[: self.n]

    def shown(self) -> str:
        """The frame in words, or in numbers where they fit."""
        rows = self.rows
        if np.array_equal(rows, np.eye(self.d)[: self.n]):
            return (
                f"the first {self.n} coordinate axes of R^{self.d}"
                if self.n > 1
                else f"the first axis of R^{self.d}"
            )
        if rows.size <= 20:
            return numbers(rows)
        turned = " and ".join(str(u) for u in self.reflections if any(u))
        return f"the first {self.n} axes of R^{self.d}, reflected in {turned} (repeated to length {self.d})"


def numbers(array: np.ndarray, digits: int = 4) -> str:
    """An array as text: a bracket for each row. The middle of long rows is left out."""
    if array.ndim == 0:
        return f"{float(array):.{digits}g}"
    if array.ndim == 1:
        texts = [f"{x:.{digits}g}" for x in array]
        return "(" + ", ".join(texts if len(texts) <= 10 else [*texts[:6], "…", *texts[-2:]]) + ")"
    rows = [numbers(row, digits) for row in array]
    return " ".join(rows if len(rows) <= 6 else [*rows[:4], "…", rows[-1]])
