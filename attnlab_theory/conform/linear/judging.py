"""The judge of one case of linear attention: how many tolerances an answer is off."""

from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.asking import Answer, Asker, shapes
from attnlab_theory.conform.attention.tolerances import HALF_EPS, coarser
from attnlab_theory.conform.linear.cases import Case, arrays
from attnlab_theory.conform.linear.conventions import Conventions
from attnlab_theory.conform.linear.guessing import asked
from attnlab_theory.conform.linear.reference import Attended, Problem, attend
from attnlab_theory.conform.linear.tolerances import tolerance
from attnlab_theory.conform.precision import Precision


class Outcome(NamedTuple):
    """What one answer is worth."""

    ratio: float
    """The largest error over its tolerance; infinite where there is no answer or no number."""
    why: str
    """In words, if the answer is wrong."""
    judged: bool
    """Whether some tolerance was smaller than the range of the values."""
    answer: Answer
    place: tuple[int, ...] = ()
    """Where the largest error is, [b h t e]."""
    right: float = 0.0


class Judge:
    """Judges answers of one target.

    Args:
        asker: of the target.
        way: to call it.
        accumulate: the type of its sums; by default that of the arrays.
    """

    def __init__(self, asker: Asker, way: Conventions, accumulate: str | None = None) -> None:
        self.asker, self.way, self.accumulate = asker, way, accumulate
        self.largest = 0.0
        """The largest error per tolerance of all answers that were right."""
        self.precision = Precision()

    def ask(self, case: Case, given: Any | None = None) -> Answer:
        """Make one call; other arrays may be given than those of the case."""
        return asked(self.asker, self.way, case, given)

    def judge(self, case: Case) -> Outcome:
        """Ask, and compare with what is right: by `Precision.judged`."""
        answer = self.ask(case)
        if answer.trouble:
            return Outcome(np.inf, str(answer.trouble), True, answer)
        exact = attend(problem := self.way.problem(*arrays(case), case))
        return self.precision.judged(case.kind, lambda kind: self._outcome(case, answer, problem, exact, kind))

    def _outcome(self, case: Case, answer: Answer, problem: Problem, exact: Attended, kind: str | None) -> Outcome:
        narrow = coarser(case.kind, answer.kind) if answer.kind in HALF_EPS else case.kind
        bound = tolerance(problem, exact, kind or narrow, self.accumulate)
        where = ~bound.loose & np.isfinite(exact.output) & (np.abs(exact.normaliser) >= self.way.least)
        if not where.any():
            return Outcome(0.0, "", not answer.output.size, answer)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(where, np.abs(answer.output - exact.output) / bound.output, 0.0)
        ratio = np.where(np.isnan(ratio) & where & (answer.output == exact.output), 0.0, ratio)
        ratio = np.where(np.isfinite(ratio), ratio, np.inf)
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
        worst, right = float(ratio[place]), float(exact.output[place])
        if worst <= 1:
            self.largest = max(self.largest, worst)
            return Outcome(worst, "", True, answer)
        off = "" if np.isinf(worst) else f", {worst:,.3g} tolerances off"
        why = f"{answer.output[place]:.7g} where {right:.7g} is right{off}, at [b h t e] = {[*place]}"
        return Outcome(worst, why, True, answer, place, right)

    def call_of(self, case: Case) -> str:
        """A call in words."""
        q, k, v, mask = arrays(case)
        said = [shapes((q, k, v), self.way.layout)]
        said += [f"{name} {[*x.shape]}" for name, x in self.way.masks(mask).items()]
        said += [f"{name}={x}" for name, x in self.way.plain(case).items()] + [case.kind]
        more = [case.values] * (case.values != "plain") + ["strided"] * case.strided
        return ", ".join(said) + (f" ({'; '.join(more)})" if more else "")
