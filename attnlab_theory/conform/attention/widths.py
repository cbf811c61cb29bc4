"""Which widths a target takes: kernels want multiples of 8 or so, and refuse others."""

import dataclasses

from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds import Kind

MULTIPLES = (2, 4, 8, 16, 32, 64)
"""Numbers of which widths may have to be multiples."""

POLITE = ("ValueError", "NotImplementedError", "AssertionError", "RuntimeError")
"""Errors by which a width may be refused. torch raises RuntimeError for that."""

USUAL = ((4, 3), (1, 1), (7, 5))
"""Widths of keys and of values that most calls of the suite have."""


def widened(caller: Caller, kind: Kind, way: Conventions) -> tuple[Conventions, list[tuple[str, str]]]:
    """A way whose widths are taken, and what is to be said of them.

    Widths are a convention only if all multiples of one number are taken, and those beside them are refused.

    Args:
        caller: of the target.
        kind: what it promises.
        way: that was found by trial calls, whose widths may fit by chance.
    """
    # Values as wide as keys may have been asked only because that width is taken.
    for same in (False, True) if way.multiple > 1 or way.same_width else (way.same_width,):
        plain = dataclasses.replace(way, same_width=same, multiple=1)
        troubles = [_trouble(caller, kind, plain, *widths) for widths in USUAL]
        if not any(troubles):
            return plain, _said(plain)
        for multiple in MULTIPLES:
            trial = dataclasses.replace(plain, multiple=multiple)
            taken = not any(_trouble(caller, kind, trial, n * multiple, m * multiple) for n, m in ((1, 2), (3, 1)))
            beside = [_trouble(caller, kind, plain, n, n) for n in (multiple + 1, 2 * multiple + multiple // 2)]
            if taken and all(each is not None and each.error in POLITE for each in beside):
                return trial, _said(trial, beside[0])
    return way, _said(way)


def _trouble(caller: Caller, kind: Kind, way: Conventions, width: int, value_width: int) -> Trouble | None:
    """What went wrong with these widths."""
    case = fitted(Case(queries=5, keys=5, width=width, value_width=value_width), kind, way)
    return ask(caller, way, case).trouble


def _said(way: Conventions, why: Trouble | None = None) -> list[tuple[str, str]]:
    lines = [("values", "must be as wide as keys")] if way.same_width else []
    if way.multiple > 1:
        lines.append(("widths", f"multiples of {way.multiple}; others refused" + f": {why}" * bool(why)))
    return lines
