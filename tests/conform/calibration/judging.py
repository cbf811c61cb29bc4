"""Whether the suite, or ONNX's vectors, notice that a target is wrong."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from attnlab_theory.conform.vectors.attending import Attending, asked
from attnlab_theory.conform.vectors.saying import Unsayable


class Box(NamedTuple):
    """A target of jax, and what it promises."""

    kind: str
    target: Callable[..., Any]
    layout: str = "td"
    right: Callable[..., Any] | None = None
    """The same with right code in the bug's place."""
    declared: Mapping[str, Any] = {}
    """What is known of both, beside framework and layout."""

    @property
    def known(self) -> dict[str, Any]:
        """All that is declared."""
        return {"framework": "jax", "layout": self.layout, **self.declared}

    def found(self) -> tuple[str, str]:
        """The first identity that the target fails, and its line."""
        return by_suite(self.target, self.kind, self.known)

    def accused(self) -> str:
        """What the right code fails, which should be nothing."""
        if self.right is None:
            return ""
        return ": ".join(filter(None, by_suite(self.right, self.kind, self.known)))


def by_suite(
    target: Any, kind: str, declared: Mapping[str, Any], identities: Collection[str] = ()
) -> tuple[str, str]:
    """The first identity that fails, and its line; two empty words if none does."""
    try:
        suite = suite_class(kind)(Direct(target), kind, declared)
    except ValueError as error:
        return "a trial call", str(error)
    # A contradiction in the profile is a failure too, whatever is asked.
    for name, line in getattr(suite, "failures", ()):
        return name, line
    for row in suite.rows(identities):
        if row.verdict == "fails":
            return row.name, row.line
    return "", ""


def told(target: Any, kind: str, declared: Mapping[str, Any], line: str) -> str:
    """What the profile or a row of that name says."""
    suite = suite_class(kind)(Direct(target), kind, declared)
    for name, said in suite.profile:
        if name == line:
            return said
    row = suite.row(line)
    return "" if row is None else row.line


def by_vectors(target: Any, declared: Mapping[str, Any]) -> str:
    """The first of ONNX's vectors that its own tolerance fails; empty if none does.

    Those of half precision are left out: there its tolerance fails right code.
    """
    questions = asked()
    try:
        suite = Attending(Direct(target), declared)
    except ValueError:
        return "a trial call"
    for name, question in questions.items():
        if question is None or question.kind not in ("float32", "float64"):
            continue
        try:
            output, _, trouble, _ = suite.answer(question)
        except Unsayable:
            continue
        if trouble and not question.visible.any(-1).all():
            continue  # right code may refuse a row that sees nothing
        off = np.where(np.isfinite(output), np.abs(output - question.output), np.inf)
        if trouble or (off > question.atol + question.rtol * np.abs(question.output)).any():
            return name
    return ""
