"""Whether the suite, or ONNX's vectors, notice that a target is wrong."""

from collections.abc import Collection, Mapping
from typing import Any

from attnlab_theory.conform.attention.suite import AttentionSuite
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.vectors.attending import Attending, asked
from attnlab_theory.conform.vectors.saying import Unsayable


def by_suite(
    target: Any, kind: str, declared: Mapping[str, Any], identities: Collection[str] = ()
) -> tuple[str, str]:
    """The first identity that fails, and its line; two empty words if none does."""
    try:
        suite = AttentionSuite(Direct(target), kind, declared)
    except ValueError as error:
        return "a trial call", str(error)
    # A contradiction in the profile is a failure too, whatever is asked.
    for name, line in suite.failures:
        return name, line
    for row in suite.rows(identities):
        if row.verdict == "fails":
            return row.name, row.line
    return "", ""


def told(target: Any, kind: str, declared: Mapping[str, Any], line: str) -> str:
    """What the profile or a row of that name says."""
    suite = AttentionSuite(Direct(target), kind, declared)
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
            found = suite.answer(question)
        except Unsayable:
            continue
        if found.trouble and not question.visible.any(-1).all():
            continue  # right code may refuse a row that sees nothing
        if found.trouble or found.theirs > 1:
            return name
    return ""
