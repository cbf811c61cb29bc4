"""A target that is right, and one call of which dies: each row says so, and calls it nothing else."""

import functools

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.laws import feature_code
from tests.conform.positions import right
from tests.conform.sequences import decoding, mixing, modelling


def dying(target, n):
    """The target, whose call of that number raises."""
    calls = []

    @functools.wraps(target)
    def called(*given, **named):
        calls.append(n)
        if len(calls) == n:
            raise MemoryError("no room")
        return target(*given, **named)

    return called, calls


TARGETS = {
    "rotary": right.interleaved,
    "sinusoidal": right.paper,
    "mixer": mixing.running_mean,
    "decode": decoding.decode(),
    "model": modelling.library(),
    "random-features": feature_code.attention,
}


def judged(kind, n):
    """The rows of a target whose call of that number raises, and how many calls were made."""
    target, calls = dying(TARGETS[kind], n)
    return list(suite_class(kind)(Direct(target), kind).rows()), len(calls)


@functools.cache
def unharmed(kind):
    """The verdicts on a target none of whose calls raises, and how many calls were made."""
    rows, calls = judged(kind, 0)
    return {row.name: row.verdict for row in rows}, calls


def misnamed(kind, n):
    """Rows that fail, or became a convention, and do not name the error."""
    try:
        rows, _ = judged(kind, n)
    except ValueError as error:
        return [] if "MemoryError" in str(error) else [str(error)]
    usual, _ = unharmed(kind)
    return [
        (row.name, row.line)
        for row in rows
        if "MemoryError" not in row.line and (row.verdict == "fails" or row.verdict != usual.get(row.name))
    ]


SEEN = [("rotary", 125), ("rotary", 129), ("sinusoidal", 52), ("sinusoidal", 48), ("sinusoidal", 12)]
"""Calls of the rows `elements apart`, `same result` and `table`."""


@pytest.mark.parametrize(("kind", "n"), SEEN)
def test_a_call_that_dies_is_named_and_called_nothing_else(kind, n):
    assert misnamed(kind, n) == []


@pytest.mark.parametrize(
    ("kind", "row", "later"), [("mixer", "same result", 2), ("model", "same result", 2), ("mixer", "float64", 2)]
)
def test_a_row_whose_call_dies_names_the_error(kind, row, later):
    calls = []

    def target(x, *given, **named):
        calls.append(x)
        if len(calls) == target.dies:
            raise MemoryError("no room")
        return TARGETS[kind](x, *given, **named)

    target.dies = 0
    suite = suite_class(kind)(Direct(functools.wraps(TARGETS[kind])(target)), kind)
    target.dies = len(calls) + later
    found = suite.row(row)
    assert found.verdict in ("fails", "convention")
    assert (found.trouble.error, "MemoryError" in found.line) == ("MemoryError", True)


MOST = 5
"""How many calls of a target die, one in each run."""


@pytest.mark.slow("calls of three rows that die stay inside")
@pytest.mark.parametrize("kind", TARGETS)
def test_no_call_that_dies_is_called_anything_else(kind):
    """Judges a target again for each of many calls that may die."""
    _, calls = unharmed(kind)
    assert {n: found for n in range(1, calls + 1, 1 + calls // MOST) if (found := misnamed(kind, n))} == {}
