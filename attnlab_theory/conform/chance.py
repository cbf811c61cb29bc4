"""Laws of chance: error rates, when they can be trusted, and the source of a target's random numbers."""

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_FINITE, Finding, Verdict
from attnlab_theory.conform.judge import Judge, Unanswered, answered
from attnlab_theory.conform.kind import Spec, law
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.stats import Interval

ALPHA = 1e-6
"""How often a law may accuse a right program: the sum over all intervals of its row."""

UNEVEN = 0.1
"""The largest share that one of a thousand squares may have of their sum, if their mean is trusted.

Of squares of normal numbers it is about 0.01. Where it is much larger, a few draws decide what the mean is."""


def drawn(judge: Judge, case: Case, seeds: range) -> np.ndarray:
    """The answers to one call by several seeds, [draws ...].

    Raises:
        Unanswered: if one is none, or no number.
    """
    if (case, seeds) not in judge.draws:
        # What is handed over is drawn again only where it is the source of randomness.
        is_source = any("{draw}" in code for role, _ in case.arrays for code in OPERANDS[role].drawn.values())
        found, made = [], judge.operands(case)
        for seed in seeds:
            each = case.replaced(draw=seed)
            answer = judge.ask(each, case.replaced(draw="i").operands(i=seed) if is_source else made)
            if answer.trouble or not np.isfinite(answer.numbers).all():
                raise Unanswered(answer.trouble or NOT_FINITE, each)
            found.append(answer.numbers)
        judge.draws[case, seeds] = np.stack(found)
    return judge.draws[case, seeds]


def agrees(interval: Interval, right: float, slack: float = 0.0) -> bool:
    """Whether an interval holds the right number, give or take a rounding."""
    return interval.low - slack <= right <= interval.high + slack


def share_of_largest(errors: np.ndarray) -> float:
    """The share that one draw has of the variance of all, where it is too large for that to be trusted; else 0.

    Args:
        errors: draws less their mean, [draws ...].
    """
    squares = errors**2
    share = float(np.max(squares.max(0) / np.maximum(squares.sum(0), 1e-300)))
    return share if share > UNEVEN else 0.0


@law
def seeded(judge: Judge, spec: Spec, between: Spec) -> Finding:
    """The law that the same seed gives the same bits, after another call, too, and another seed others."""
    case, other = judge.cases([spec])[0], judge.cases([between])[0]
    first, unlike = (answered(judge.ask(case.replaced(draw=seed)), case) for seed in (7, 8))
    judge.ask(other.replaced(draw=9))
    again = answered(judge.ask(case.replaced(draw=7)), case)
    if np.array_equal(first.numbers, unlike.numbers, equal_nan=True):
        return Finding(verdict=Verdict.FAILS, fact="seed ignored", tried=3)
    if not np.array_equal(first.numbers, again.numbers, equal_nan=True):
        if "source" not in judge.convention.names:
            return Finding(verdict=Verdict.CONVENTION, fact="no seed", tried=3)
        return Finding(verdict=Verdict.FAILS, trouble=ANOTHER_ANSWER, case=case.replaced(draw=7), tried=3)
    return Finding(verdict=Verdict.HOLDS, fact="seeded", tried=3)
