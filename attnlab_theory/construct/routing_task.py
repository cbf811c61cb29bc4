"""Which routings are possible, and why others are not (docs/mathematics/routing.md)."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Array

from attnlab_theory import refuse
from attnlab_theory.construct.faces import eps_of, listed

EPS = float(np.finfo(np.float64).eps)

TINY = float(np.finfo(np.float64).tiny)
"""The smallest normal number. XLA takes smaller ones for 0."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """A routing problem that has passed all checks.

    Attributes:
        inputs: in float64, linearly independent.
        unit: the inputs divided by `size`, so that no decision depends on the caller's units.
        size: the largest entry of the inputs, in size.
        routes: for every row the input that it attends to, or None if the row is free.
        wanted: the wanted outputs, NaN in free rows.
        tolerance: largest distance of an output from the wanted one.

    Example:
        `checked` makes it. Only row 0 is routed, so what is wanted of row 1 does not matter.

        >>> task = checked(4 * np.eye(2), [1, None], np.array([[5.0], [7.0]]), 0.01)
        >>> task.size, task.routed, task.wanted.ravel()
        (4.0, [(0, 1)], array([ 5., nan]))
    """

    inputs: np.ndarray
    unit: np.ndarray
    size: float
    routes: tuple[int | None, ...]
    wanted: np.ndarray
    tolerance: float

    @property
    def routed(self) -> list[tuple[int, int]]:
        """The rows that are not free, each with the input that it attends to."""
        return [(i, j) for i, j in enumerate(self.routes) if j is not None]


def checked(
    x: np.ndarray | Array, routes: Sequence[int | None], outputs: np.ndarray | Array, tolerance: float
) -> Task:
    """The checked problem. An error says why a problem cannot be solved.

    Args:
        x: linearly independent inputs, one per row.
        routes: for every input the number of the one it attends to, or None to leave it free.
        outputs: wanted outputs, one per row; those of free rows are ignored and may be NaN.
        tolerance: largest distance of an output from the wanted one, in 2-norm and in the outputs' units.

    Raises:
        ValueError: if the inputs are dependent, or two rows that attend to the same input want different outputs.
            Or if a route points outside, or no row is routed. Or if the tolerance is not positive and finite. Or if
            an array is not finite or of the wrong shape.

    Example:
        Two rows that read the same input receive the same value. They may not want different ones.

        >>> checked(np.eye(2), [1, 1], np.array([[5.0], [5.0]]), 0.01).routes
        (1, 1)
        >>> checked(np.eye(2), [1, 1], np.array([[5.0], [7.0]]), 0.01)
        Traceback (most recent call last):
            ...
        ValueError: rows {0, 1} both attend to input 1 but want outputs that differ by 2: ...
    """
    refuse.wrong_rank(2, x=x, outputs=outputs)
    n, d = np.shape(x)
    refuse.different_axes("inputs", x=n, routes=len(routes), outputs=np.shape(outputs)[0])
    if 0 in (n, d, np.shape(outputs)[1]):
        raise ValueError(f"x of shape {(n, d)} and outputs of shape {np.shape(outputs)} must not be empty")
    refuse.not_real(x=x, outputs=outputs)
    refuse.non_finite(x=x)
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite, not {tolerance}")
    for i, goal in enumerate(routes):
        if goal is None:
            continue
        refuse.not_whole(**{f"route {i}": goal})
        if not 0 <= goal < n:
            raise ValueError(
                f"row {i} is routed to {goal}, but inputs are numbered 0 to {n - 1}; None leaves it free"
            )
    chosen = tuple(None if goal is None else int(goal) for goal in routes)
    wanted = np.array(outputs, dtype=np.float64)
    wanted[[i for i, goal in enumerate(chosen) if goal is None]] = np.nan
    routed = [i for i, goal in enumerate(chosen) if goal is not None]
    if not routed:
        raise ValueError("no row is routed: nothing is asked of K, Q and V")
    for i in routed:
        refuse.non_finite(**{f"output {i}": wanted[i]})
    inputs = np.asarray(x, dtype=np.float64)
    size = float(np.max(np.abs(inputs))) or 1.0
    _require_independent(inputs / size, np.asarray(x).dtype)
    _require_agreement(chosen, wanted, np.asarray(outputs).dtype)
    return Task(
        inputs=inputs, unit=inputs / size, size=size, routes=chosen, wanted=wanted, tolerance=float(tolerance)
    )


def _require_independent(unit: np.ndarray, dtype: np.dtype) -> None:
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    rank = int(np.linalg.matrix_rank(unit / np.where(lengths > 0, lengths, 1), tol=max(unit.shape) * eps_of(dtype)))
    if rank < len(unit):
        raise ValueError(
            f"inputs must be linearly independent, but {len(unit)} of them have rank {rank}: the scores and values "
            "of a dependent input follow from the others and cannot be chosen"
        )


def _require_agreement(routes: tuple[int | None, ...], wanted: np.ndarray, dtype: np.dtype) -> None:
    for goal in {goal for goal in routes if goal is not None}:
        rows = [i for i, to in enumerate(routes) if to == goal]
        gaps = np.max(np.abs(wanted[rows] - wanted[rows[:1]]), axis=1)
        far = rows[int(np.argmax(gaps))]
        if np.max(gaps) > 8 * eps_of(dtype) * np.max(np.abs(wanted[rows])):
            raise ValueError(
                f"rows {listed([rows[0], far])} both attend to input {goal} but want outputs that differ by "
                f"{np.max(gaps):.3g}: both receive the value of input {goal}"
            )
