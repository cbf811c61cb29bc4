"""What a target refuses beside what it takes: two features together, views of memory, shapes. That is told."""

import dataclasses
import itertools

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.features import SMALL, Sizes, asked_of, case_of
from attnlab_theory.conform.attention.judging import HALVES, Judge
from attnlab_theory.conform.attention.widths import POLITE
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds import Kind

BACKENDS = ("JaxRuntimeError", "XlaRuntimeError", "NotImplementedError")
"""Errors of compilers that have no code for a type at some shape, where they have it for float32."""

USUAL_WIDTH, USUAL_HEADS = 64, 8
"""A shape within both must be taken, but for heads that share keys."""


class Apart:
    """Learns from refusals.

    Args:
        judge: of the target.
        kind: what it promises.
    """

    def __init__(self, judge: Judge, kind: Kind) -> None:
        self.judge, self.kind = judge, kind
        self.features: frozenset[frozenset[str]] = frozenset()
        """Features that are refused together."""
        self.told: dict[str, Trouble] = {}
        """What is refused, in words, and how."""

    def explains(self, case: Case, trouble: Trouble | None) -> bool:
        """Whether a call was refused for features that a small call is refused for, too, or for its shape."""
        if trouble is not None and trouble.error in BACKENDS and self._is_answered_in_float32(case):
            self.told.setdefault(f"{case.kind} in some shapes", trouble)
            return True
        if not is_polite(trouble):
            return False
        values = asked_of(case, self.kind, self.judge.way)
        sizes = Sizes(*(getattr(case, name) for name in Sizes._fields))
        shared = case.groups < case.heads
        if shared or case.width > USUAL_WIDTH or case.heads > USUAL_HEADS:
            alone = {"sizes": sizes._asdict() | {"shared": shared}}
            words = f"{case.heads} heads on {case.groups} of width {case.width}"
            if self._refuses(case_of(self.kind, self.judge.way, alone), words):
                return True
        for names in (*({"memory"} & values.keys(),), *map(set, itertools.combinations(values, 2))):
            some = {"sizes": SMALL._asdict(), **{name: values[name] for name in values if name in names}}
            words = " beside ".join(name for name in values if name in names)
            if names and self._refuses(case_of(self.kind, self.judge.way, some), words):
                self.features |= {frozenset(names)}
                return True
        return False

    def _is_answered_in_float32(self, case: Case) -> bool:
        return case.kind in HALVES and self.judge.ask(dataclasses.replace(case, kind="float32")).trouble is None

    def _refuses(self, case: Case, words: str) -> bool:
        trouble = self.judge.ask(case).trouble
        if trouble is None or not is_polite(trouble):
            return False
        self.told.setdefault(words, trouble)
        return True


def is_polite(trouble: Trouble | None) -> bool:
    """Whether a call was refused with an error that says so, such as ValueError."""
    return trouble is not None and trouble.refuses and trouble.error in POLITE
