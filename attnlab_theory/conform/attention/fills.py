"""What stands for minus infinity: a finite number shows when a hidden score is above a visible one by more.

In float16 q·k must stay below 65,504, for right code may round it before it multiplies with the scale. Beyond that
an answer that is no number is no failure, and only a hidden key that takes nearly all the weight is told.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions, hiding
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.probe import probed
from attnlab_theory.conform.finding import NOT_FINITE, Trouble, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said

SIZE = 6
"""Queries and keys."""

FILLS: Mapping[str, tuple[float, ...]] = {
    "float32": (1e4, 1e10),
    "float16": (1.1e4, 2e4, 6e4),
    "bfloat16": (1.1e4, 1e10),
}
"""Scores by which what is hidden is raised over what is visible. In half precision 1e4 is no exact product."""

LARGEST = 6e4
"""The largest product q·k that is sure to be a number in float16, with some room."""

LEAST: Mapping[str, float] = {"float32": 0.01, "float16": 0.05, "bfloat16": 0.05}
"""The weight that a hidden key must have to be seen, over the rounding of values up to 2."""

TAKEN = 0.9
"""The weight that shows a hidden key where scores may have overflowed: a mean over all keys has less."""


WORST = (Verdict.FAILS, Verdict.CONVENTION, Verdict.HOLDS)


class Found(NamedTuple):
    """What the scores of one type show."""

    verdict: Verdict
    line: str
    calls: int
    case: Case | None = None
    trouble: Trouble | None = None


def finite_fill(judge: Judge, kind: Kind) -> Said:
    """What is hidden has no weight, however much its score is above that of what is visible, in each type."""
    way = judge.way
    if way.visible(_case(judge, kind, "float32"), _mask(way)).all() and not hiding(way):
        return NOTHING
    found: dict[str, Found] = {}
    for name in ("float32", "float16", "bfloat16"):
        if (name, way.framework) != ("bfloat16", "numpy"):
            found[name] = _in_type(judge, kind, name)
    worst = min(found.values(), key=lambda each: WORST.index(each.verdict))
    tried = sum(each.calls for each in found.values())
    if worst.verdict is Verdict.FAILS:
        return Said(Verdict.FAILS, worst.line, tried, worst.case, trouble=worst.trouble)
    return Said(worst.verdict, "; ".join(f"{name}: {each.line}" for name, each in found.items()), tried)


def _in_type(judge: Judge, kind: Kind, name: str) -> Found:
    case, mask, down, calls = _case(judge, kind, name), _mask(judge.way), 0.0, 0
    # A mask of keys hides the same from every query.
    padding = (
        np.broadcast_to(np.arange(SIZE) < 4, (case.batch, SIZE)) if hiding(judge.way) and mask is None else None
    )
    shown = mask if padding is None else np.broadcast_to(padding[0], (SIZE, SIZE))
    visible, inside = judge.way.visible(case, shown)[0, 0], "" if name == "float32" else f" in {name}"
    for fill, scores in _scores(name):
        beyond = name == "float16" and fill / judge.way.factor(_as_probed(judge, case)) > LARGEST
        seen = probed(judge.caller, judge.way, case, mask, scores, padding)
        judge.calls, calls = judge.calls + 1, calls + 1
        if seen.trouble and name != "float32" and not down:
            return Found(Verdict.HOLDS, f"refused: {seen.trouble}", calls, trouble=seen.trouble)
        finite = not seen.trouble and bool(np.isfinite(seen.weights).all())
        if beyond and not finite:
            break
        if seen.trouble:
            return Found(
                Verdict.FAILS, f"scores of {fill:g}{inside}: {seen.trouble}", calls, case, trouble=seen.trouble
            )
        if not finite:
            line = f"with scores of {fill:g}{inside} and a hidden key the output is no number"
            return Found(Verdict.FAILS, line, calls, case, NOT_FINITE)
        first = seen.weights[0, 0]  # whose values no offset moves
        hidden = np.where(visible, 0.0, np.abs(seen.weights))
        if name != "float32" or fill > FILLS[name][0]:
            # exp(score - log of the sum) is off by a factor here, in all weights of a row alike.
            first = first + max(seen.owners[0, 0], 0)
            hidden = np.where(visible, 0.0, np.abs(first)) / np.maximum(np.abs(first).sum(-1, keepdims=True), 1e-30)
        leaked = hidden.sum(-1).max() if beyond else hidden.max()
        if leaked > (TAKEN if beyond else LEAST[name]):
            saw(judge.caller, first, np.zeros_like(first), ~visible * np.abs(first) / 0.01)
            if fill == FILLS[name][0] and not beyond:
                line = f"with scores of {fill:g}{inside} a hidden key gets the weight {leaked:.2g}"
                return Found(Verdict.FAILS, line, calls, case)
            return Found(
                Verdict.CONVENTION, f"finite: a score of {fill:g} shows a hidden key, {down:g} does not", calls
            )
        down = fill if scores[0] == scores[1] else down  # the second of the two
    line = f"scores down to {-down:g} below a hidden one were tried" if down else "its scores are no numbers"
    return Found(Verdict.HOLDS, line, calls)


def _scores(name: str) -> Iterator[tuple[float, np.ndarray]]:
    for fill in FILLS[name]:
        yield fill, np.linspace(-fill, fill, SIZE)
        yield fill, np.where(np.arange(SIZE) < 4, -fill, fill)


def _mask(way: Conventions) -> np.ndarray | None:
    return np.broadcast_to(np.arange(SIZE) < 4, (SIZE, SIZE)) if way.mask else None


def _case(judge: Judge, kind: Kind, name: str) -> Case:
    window = 3 if kind.wants == "window" and "window" in judge.way.names else None
    return fitted(Case(batch=1, queries=SIZE, keys=SIZE, kind=name, window=window), kind, judge.way)


def _as_probed(judge: Judge, case: Case) -> Case:
    return Case(width=SIZE + 2) if judge.way.same_width else case
