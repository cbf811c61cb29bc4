"""Two ways to one answer: they must agree as far as both may err, and choose alike where there is nothing right."""

import itertools
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.asking import Answer
from attnlab_theory.conform.attention.cases import Arrays, Case, arrays
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.attention.tolerances import tolerance
from attnlab_theory.conform.finding import ANOTHER_ANSWER, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, refused


class Difference(NamedTuple):
    """How two answers to one case differ."""

    ratio: float
    """The largest difference over the sum of both tolerances, in rows that see something."""
    place: tuple[int, ...]
    """Where that is, [b h t e]."""
    blind: tuple[str, str] | None
    """What each gives in rows that see nothing, where these differ."""


def difference(
    judge: Judge, case: Case, one: Answer, other: Answer, given: Arrays | None = None, kind: str | None = None
) -> Difference:
    """Compare two answers to one case.

    Args:
        judge: whose conventions say what the case asks.
        case: what both were asked.
        one: an answer.
        other: another one.
        given: other arrays than those of the case.
        kind: the type in which both may compute; by default that of the arrays.
    """
    problem = judge.way.problem(arrays(case) if given is None else given, case)
    exact = attend(problem)
    bounds = [tolerance(problem, exact, kind or judge.type_of(case, each)).output for each in (one, other)]
    sees = np.broadcast_to(problem.visible.any(-1, keepdims=True), exact.output.shape)
    with np.errstate(invalid="ignore"):
        ratio = np.abs(one.output - other.output) / (bounds[0] + bounds[1])
    same = (one.output == other.output) | (np.isnan(one.output) & np.isnan(other.output))
    ratio = np.where(~sees | same, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    saw(judge.caller, one.output, other.output, ratio)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape)) if ratio.size else ()
    blind = None
    if not sees.all():
        rows = one.output[~sees], other.output[~sees]
        saw(judge.caller, *rows, np.where(np.isclose(*rows, atol=1e-3, equal_nan=True), 0.0, np.inf))
        if not np.allclose(*rows, atol=1e-3, equal_nan=True):
            blind = outcome(rows[0]), outcome(rows[1])
    return Difference(float(ratio[place]) if place else 0.0, place, blind)


def outcome(row: np.ndarray) -> str:
    """What stands in a row that sees nothing, in a word."""
    if np.isnan(row).any():
        return "NaN"
    return "other numbers" if row.any() else "zeros"


def gradient_mode(judge: Judge, kind: Kind) -> Said:
    """The answer does not depend on whether gradients are wanted: libraries have a path for either."""
    way = judge.way
    if way.framework != "torch":
        return NOTHING
    worst, tried = 0.0, 0
    masks = ("none", "random", "blind") if way.mask else ("none",)
    # A fast path may want q, k and v to be one tensor.
    for mask, shared in itertools.product(masks, (False, True) if not kind.grouped else (False,)):
        case = fitted(Case(queries=6, keys=6, width=4, value_width=4, mask=mask, seed=2), kind, way)
        given = arrays(case)
        given = given._replace(k=given.q, v=given.q) if shared else given
        without, within = (
            judge.ask(case, given, {"gradients": wanted, "tracked": wanted, "shared": shared})
            for wanted in (False, True)
        )
        tried += 1
        if without.trouble != within.trouble:
            trouble = within.trouble or without.trouble
            return refused(trouble, "refused with gradients: ", tried)
        if without.trouble:
            continue
        found = difference(judge, case, without, within, given)
        worst = max(worst, found.ratio)
        if found.ratio > 1:
            said = f"under no_grad another answer than with gradients, {found.ratio:.3g} tolerances apart"
            return Said(Verdict.FAILS, said, tried, ratio=found.ratio, trouble=ANOTHER_ANSWER)
        if found.blind:
            said = f"a row that sees nothing is {found.blind[0]} under no_grad, and {found.blind[1]} with gradients"
            said += "; q, k and v are one tensor" * shared
            return Said(Verdict.FAILS, said, tried)
    return Said(Verdict.HOLDS, f"the same under no_grad, {worst:.2g} of both tolerances apart", tried, ratio=worst)
