"""The smallest case that fails as a given one does: one field after the other is made simpler, while it fails.

Hypothesis, which shrinks for the grader, would begin with a search of its own; here the failing case is known.
"""

import dataclasses
from collections.abc import Iterator

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.judging import Judge, Outcome
from attnlab_theory.conform.finding import Fault

MOST = 60
"""Calls that one counterexample may cost."""

PLAIN = Case()


def smallest(judge: Judge, case: Case, outcome: Outcome) -> tuple[Case, Outcome]:
    """A simpler case that fails, and how.

    Args:
        judge: of the target.
        case: one that fails.
        outcome: how.
    """
    left, raises = MOST, bool(outcome.answer.trouble)
    shrunk = True
    while shrunk and left > 0:
        shrunk = False
        for simpler in _simpler(case, judge.way):
            left -= 1
            found = judge.judge(simpler)
            trouble = found.answer.trouble
            is_made = trouble is None or trouble.fault is not Fault.NOT_CALLED
            if found.fails and bool(trouble) == raises and is_made:
                case, outcome, shrunk = simpler, found, True
                break
            if left <= 0:
                break
    return case, outcome


def _simpler(case: Case, way: Conventions) -> Iterator[Case]:
    """Simpler cases, the boldest first."""
    bare = case.mask == "none" and not case.padding
    for field in (
        "by_head",
        "bias_by_element",
        "memory",
        "garbage",
        "kind",
        "bias",
        "padding",
        "lengths",
        "segments",
        "sinks",
        "slopes",
        "scale",
    ):
        hides = field == "padding" and case.garbage
        if getattr(case, field) != getattr(PLAIN, field) and not hides and not (field == "garbage" and bare):
            yield dataclasses.replace(case, **{field: getattr(PLAIN, field)})
    if case.causal and way.causal == "asked":
        yield dataclasses.replace(case, causal=False)
    if case.mask != "none" and not case.garbage:
        yield dataclasses.replace(case, mask="none")
    if case.values == "plain":
        yield dataclasses.replace(case, values="whole")
    elif case.values not in ("whole", "zeros"):
        yield dataclasses.replace(case, values="plain")
    if case.batch > 1:
        yield dataclasses.replace(case, batch=1)
    if case.heads > 1:
        each = case.heads // case.groups
        yield dataclasses.replace(case, heads=each, groups=1)
    if case.queries == case.keys and case.keys > 1:
        for size in dict.fromkeys((1, case.keys // 2, case.keys - 1)):
            yield dataclasses.replace(case, queries=size, keys=size)
    if case.queries != case.keys and case.keys > case.queries:
        yield dataclasses.replace(case, keys=case.queries)
    for fields in (("width", "value_width"),) if way.same_width else (("width",), ("value_width",)):
        size = getattr(case, fields[0])
        for less in dict.fromkeys((way.wide(1), way.wide(size // 2))):
            if 0 < less < size:
                yield dataclasses.replace(case, **dict.fromkeys(fields, less))
