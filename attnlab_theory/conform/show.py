"""The one writer of snippets: the case, the call, and the number that is wrong. It needs the target and numpy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab_theory.conform.calling import Convention
from attnlab_theory.conform.case import handed
from attnlab_theory.conform.finding import Finding

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


def snippet(
    place: "Place", about: Mapping[str, Any], convention: Convention, axes: str, finding: Finding
) -> list[str]:
    """Lines of Python that show what was found.

    Args:
        place: of the target.
        about: what can be seen of it.
        convention: how it is called.
        axes: those of its kind.
        finding: with a case.
    """
    assert finding.case is not None
    lines = [
        "import sys",
        "import numpy as np",
        *([f"import {convention.framework}"] * (convention.framework == "torch")),
    ]
    lines += [
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]
    target = place.names
    if about.get("class"):
        lines, target = [*lines, f"target = {target}()"], "target"
    inside = ", ".join(f"{name}={code}" for name, code in handed(convention.names).items())
    lines += [*finding.case.lines(), f"out = {target}({inside})"]
    if finding.number is None:
        return [*lines, "print(out)"]
    number = finding.number
    given = _entry(number.place, axes, convention.chosen["axes"])
    less = f" - {_entry(number.origin, axes, convention.chosen['axes'])}" if number.origin else ""
    return [*lines, f"print({given}{less}, 'where {number.right:.9g} is right')"]


def _entry(place: Sequence[int], axes: str, own: str) -> str:
    """An entry of what came, whose axes are the target's own."""
    where = dict(zip(axes, place, strict=True))
    return f"out[{', '.join(str(where.get(axis, 0)) for axis in own)}]"
