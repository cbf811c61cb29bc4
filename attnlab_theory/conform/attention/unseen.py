"""What a tolerance is too wide to see: the smallest error of the scale that would have failed.

The scale is what most often is wrong by a factor. In half precision few small cases may let a wrong one pass, and a
row that holds says so.
"""

from collections.abc import Iterable

import numpy as np

from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.judging import Judge, coarse
from attnlab_theory.conform.attention.reference import Problem, attend
from attnlab_theory.conform.attention.tolerances import tolerance

SEEN = 0.25
"""A scale that is wrong by so much must fail, or the row says that it would not."""

STEP, MOST = 1.25, 64.0
"""From one error that is tried to the next, and the largest."""


def unseen_error(judge: Judge, cases: Iterable[Case]) -> float:
    """The smallest relative error of the scale that would have failed in some case; 0 if a quarter would.

    Args:
        judge: of the target.
        cases: that it was asked. Infinity is that no error would have failed.
    """
    compared: list[tuple[Problem, np.ndarray, np.ndarray]] = []
    for case in cases:
        problem = judge.way.problem(arrays(case), case)
        exact, kind = attend(problem), judge.answered_in(case)
        kind = "float32" if kind == "float64" and judge.precision.excess else kind
        most = tolerance(problem, exact, kind, judge.accumulate, cast=coarse(kind, case.kind)).output
        compared.append((problem, exact.output, most))
        if _fails(*compared[-1], SEEN):
            return 0.0
    error = SEEN
    while (error := error * STEP) < MOST:
        if any(_fails(*each, error) for each in compared):
            low = error / STEP
            for _ in range(4):
                middle = (low + error) / 2
                low, error = (low, middle) if any(_fails(*each, middle) for each in compared) else (middle, error)
            return error
    return np.inf


def _fails(problem: Problem, right: np.ndarray, most: np.ndarray, error: float) -> bool:
    wrong = attend(problem._replace(scale=problem.scale * (1 + error))).output
    with np.errstate(invalid="ignore"):
        return bool((np.abs(wrong - right) > most).any())


def told(error: float) -> str:
    """That in words, to stand at the end of a line; empty if a quarter would have failed."""
    if not error:
        return ""
    if np.isinf(error):
        return "; no error of the scale would show"
    return f"; a scale wrong by less than {error:.0%} would hold"
