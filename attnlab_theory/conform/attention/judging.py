"""The judge of one case: how many tolerances an answer is off."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.attention.asking import Answer, ask
from attnlab_theory.conform.attention.cases import Arrays, Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.halves import share
from attnlab_theory.conform.attention.reference import Attended, Problem, attend
from attnlab_theory.conform.attention.tolerances import HALF_EPS, coarser, tolerance
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.precision import Precision
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import CALL, Wrong

PLAIN = 1e-4
"""Numbers that differ by more, relative to 1 and to the right one, differ for every reader."""

HALVES = ("float16", "bfloat16")


class Outcome(NamedTuple):
    """What one answer is worth."""

    ratio: float
    """The largest error over its tolerance; infinite where there is no answer or no number."""
    why: str
    """In words, if the answer is wrong."""
    judged: bool
    """Whether some entry had a tolerance that is smaller than the range of the values."""
    answer: Answer
    place: tuple[int, ...] = ()
    """Where the largest error is, [b h t e]."""
    right: float = 0.0
    """What stands there in the right answer."""
    rule: float | None = None
    """The error over what flash-attention's rule allows, in half precision."""

    of_weights: bool = False
    """Whether the place is one of the weights beside the output."""

    @property
    def fails(self) -> bool:
        """Whether the answer is wrong."""
        return bool(self.why)

    @property
    def is_plain(self) -> bool:
        """Whether the wrong number is far from the right one by itself, and not by its tolerance alone."""
        if not self.place or self.of_weights:
            return True
        return not abs(self.answer.output[self.place] - self.right) < PLAIN * max(1.0, abs(self.right))

    def wrong(self, call: str) -> Wrong:
        """What is wrong with a call, at the end of which the call stands."""
        return Wrong(f"{self.why}; {CALL}{call}", self.answer.trouble, call)


class Judge:
    """Judges answers of one target.

    Args:
        caller: of the target.
        way: to call it.
        accumulate: the type of its sums; by default that of the arrays.
    """

    def __init__(self, caller: Caller, way: Conventions, accumulate: str | None = None) -> None:
        self.caller, self.way, self.accumulate = caller, way, accumulate
        self.largest = 0.0
        """The largest error per tolerance of all answers that were right."""
        self.calls = 0
        self.printed: str = ""
        """The first that was printed, with the call."""
        self.changed: tuple[Case, tuple[str, ...]] | None = None
        """The first case whose inputs were changed, and which."""
        self.kinds: dict[str, str] = {}
        """The type of the outputs, by that of the inputs."""
        self.precision = Precision()

    def ask(self, case: Case, given: Arrays | None = None, more: Mapping[str, Any] | None = None) -> Answer:
        """Make a call, and note what it did beside answering."""
        self.calls += 1
        answer = ask(self.caller, self.way, case, given, more)
        if answer.changed and self.changed is None:
            self.changed = case, answer.changed
        self.printed = self.printed or answer.printed
        if answer.kind:
            self.kinds.setdefault(case.kind, answer.kind)
        return answer

    def type_of(self, case: Case, answer: Answer) -> str:
        """The type in which an answer may have been computed: the coarser one of what came in and went out."""
        return coarser(case.kind, answer.kind) if answer.kind in HALF_EPS else case.kind

    def answered_in(self, case: Case) -> str:
        """The type in which the target answers numbers of the type of a case, by a call if that is not known."""
        if case.kind not in self.kinds:
            self.ask(case)
        return coarser(case.kind, kind) if (kind := self.kinds.get(case.kind, "")) in HALF_EPS else case.kind

    def judge(self, case: Case) -> Outcome:
        """Ask, and compare with what is right: by `Precision.judged`."""
        answer = self.ask(case)
        if answer.trouble:
            return Outcome(np.inf, str(answer.trouble), True, answer)
        problem = self.way.problem(arrays(case), case)
        exact = attend(problem)
        return self.precision.judged(case.kind, lambda kind: self._outcome(case, answer, problem, exact, kind))

    def _outcome(self, case: Case, answer: Answer, problem: Problem, exact: Attended, kind: str | None) -> Outcome:
        kind = kind or self.type_of(case, answer)
        bound = tolerance(problem, exact, kind, self.accumulate, cast=coarse(kind, case.kind))
        sees = np.broadcast_to(problem.visible.any(-1, keepdims=True), exact.output.shape)
        rule = share(problem, exact, answer.output, case.kind) if case.kind in HALVES else None
        ratio, place = _largest(answer.output, exact.output, bound.output, sees & np.isfinite(exact.output))
        judged = bool((sees & ~bound.loose).any()) or not sees.any()
        if ratio > 1:
            saw(self.caller, answer.output[place], exact.output[place], ratio)
            return Outcome(
                ratio,
                _said(ratio, answer.output[place], exact.output[place], place),
                True,
                answer,
                place,
                float(exact.output[place]),
                rule,
            )
        if answer.weights is not None:
            # A sink is a key of the reference alone.
            right, most = (x[..., : case.keys] for x in (exact.weights, bound.weights))
            rows = np.broadcast_to(problem.visible.any(-1, keepdims=True), right.shape)
            of_weights, where = _largest(answer.weights, right, most, rows)
            if of_weights > 1:
                said = _said(of_weights, answer.weights[where], exact.weights[where], where)
                return Outcome(
                    of_weights, f"weights: {said}", True, answer, where, float(right[where]), of_weights=True
                )
        if judged:
            self.largest = max(self.largest, ratio)
        return Outcome(ratio, "", judged, answer, rule=rule)


def coarse(kind: str, given: str) -> bool:
    """Whether numbers that are given in one type may have been rounded to another first."""
    return HALF_EPS[kind] > HALF_EPS[given]


def _largest(
    given: np.ndarray, right: np.ndarray, most: np.ndarray, where: np.ndarray
) -> tuple[float, tuple[int, ...]]:
    """The largest error over its tolerance, and where it is; what is no number is infinitely wrong."""
    if not where.any():
        return 0.0, ()
    with np.errstate(invalid="ignore"):
        ratio = np.where(where, np.abs(given - right) / most, 0.0)
    ratio = np.where(np.isfinite(ratio), ratio, np.inf)
    place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[place]), tuple(int(i) for i in place)


def _said(ratio: float, given: float, right: float, place: tuple[int, ...]) -> str:
    off = "" if np.isinf(ratio) else f", {ratio:,.3g} tolerances off"
    return f"{given:.7g} where {right:.7g} is right{off}, at [b h t e] = {[*place]}"
