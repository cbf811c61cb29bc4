"""What was found, for people, for programs and for those who do not have attnlab."""

import xml.etree.ElementTree as xml
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.cases import Case, arrays, lines, storage
from attnlab_theory.conform.conventions import Conventions
from attnlab_theory.conform.judging import Outcome
from attnlab_theory.conform.layouts import LAYOUTS, weights_layout
from attnlab_theory.conform.suite import Row, Suite

LITERAL = 24
"""So many numbers at most are written out; more are drawn."""

MARK = {"holds": "holds", "fails": "FAILS", "convention": "convention", "not judged": "-"}


def profile_lines(suite: Suite) -> list[str]:
    """The conventions of a target, a line each."""
    width = max(len(name) for name, _ in suite.profile.lines)
    return [f"  {name:{width}}  {text}" for name, text in suite.profile.lines]


def line_of(row: Row) -> str:
    """One identity in one line."""
    return f"{row.name:17} {MARK[row.verdict]:10} {row.tried:>4}  {row.line}"


def notes(suite: Suite) -> list[str]:
    """What is neither right nor wrong, and was seen on the way."""
    found = [f"gives {got} for {given}" for given, got in suite.judge.kinds.items() if got != given]
    if suite.judge.printed:
        found.append(f"prints while it is called: {suite.judge.printed!r}")
    return found


def summary(suite: Suite, rows: Sequence[Row], seconds: float) -> str:
    """The last line."""
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in MARK}
    words = {"holds": "hold", "fails": "fail", "convention": "are conventions", "not judged": "are not judged"}
    one = {"holds": "holds", "fails": "fails", "convention": "is a convention", "not judged": "is not judged"}
    said = [f"{count} {(one if count == 1 else words)[verdict]}" for verdict, count in counts.items() if count]
    return (
        f"{', '.join(said)}. {suite.judge.calls} calls in {seconds:.1f} s. "
        f"The largest error of a right answer is {suite.judge.largest:.2g} of its tolerance."
    )


def snippet(place: Place, way: Conventions, case: Case, outcome: Outcome) -> list[str]:
    """At most 15 lines of Python that show a counterexample. They need the target and numpy."""
    given = arrays(case)
    numbers = sum(x.size for x in given if x is not None)
    if numbers <= LITERAL:
        named = zip(("q", "k", "v", "mask", "bias"), given, strict=True)
        drawn = [f"{name} = np.array({x.tolist()}, '{x.dtype}')" for name, x in named if x is not None]
        drawn = [line.replace("nan", "np.nan").replace("inf", "np.inf") for line in drawn]
    else:
        drawn = lines(case)
    handed = [LAYOUTS[way.layout].format(x=x) for x in "qkv"]
    plain, names = way.plan(case)
    words = {"bool-drop": "~{x}", "additive": f"np.where({{x}}, 0, -np.inf).astype('{storage(case.kind)}')"}
    for name, role in zip(names, ("mask", "bias") if case.mask != "none" else ("bias",), strict=False):
        spread = role == "bias" and "h" not in way.layout
        shown = "bias[0]" if spread else role
        if role == "mask":
            shown = LAYOUTS[weights_layout(way.layout)].format(x="mask") if case.by_head else "mask"
            shown = words.get(way.mask, "{x}").format(x=shown)
        handed.append(f"{name}={shown}")
    handed = [_framed(x, way.framework, case.kind) for x in handed]
    call = ", ".join([*handed, *(f"{name}={x!r}" for name, x in plain.items())])
    found = ["import sys", "import numpy as np", *(["import torch"] if way.framework == "torch" else [])]
    found += [
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]
    found += [*drawn, f"out = {place.names}({call})"]
    if outcome.place and not outcome.why.startswith("weights"):
        axes = dict(zip("bhtd", outcome.place, strict=True))
        index = ", ".join(str(axes[axis]) for axis in way.layout)
        first = "out[0]" if outcome.answer.several else "out"
        return [*found, f"print({first}[{index}], 'where {outcome.right:.9g} is right')"]
    return [*found, f"print(out)  # {outcome.why}"]


def _framed(x: str, framework: str, kind: str) -> str:
    if framework != "torch":
        return x
    name, equals, value = x.rpartition("=") if x.startswith(("mask=", "bias=", "attn")) else ("", "", x)
    return f"{name}{equals}torch.from_numpy({value})" + (".bfloat16()" if kind == "bfloat16" else "")


def as_json(suite: Suite, rows: Sequence[Row], target: str, kind: str, code: int, seconds: float) -> dict[str, Any]:
    """All of it as plain values."""

    def plain(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    return {
        "target": target,
        "kind": kind,
        "exit_code": code,
        "profile": dict(suite.profile.lines),
        "notes": notes(suite),
        "identities": [
            {"name": r.name, "verdict": r.verdict, "line": r.line, "tried": r.tried, "tolerances": plain(r.ratio)}
            for r in rows
        ],
        "largest_error_of_a_right_answer": suite.judge.largest,
        "calls": suite.judge.calls,
        "seconds": round(seconds, 2),
    }


def as_junit(rows: Sequence[Row], target: str, kind: str) -> str:
    """The rows as JUnit's XML, which most continuous integrations read."""
    fails = sum(row.verdict == "fails" for row in rows)
    suite = xml.Element("testsuite", name=f"{target} as {kind}", tests=str(len(rows)), failures=str(fails))
    for row in rows:
        test = xml.SubElement(suite, "testcase", classname=f"conform.{kind}", name=row.name)
        if row.verdict == "fails":
            xml.SubElement(test, "failure", message=row.line)
        elif row.verdict == "not judged":
            xml.SubElement(test, "skipped", message=row.line)
        else:
            xml.SubElement(test, "system-out").text = row.line
    xml.indent(suite)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


TEMPLATES = {
    "numpy": '''"""An adapter: attnlab conform adapter.py::mine --as causal"""

import numpy as np

from PACKAGE import FUNCTION


def mine(q, k, v, mask=None):
    """q [b h t d], k [b h s d], v [b h s e], mask [t s] or [b h t s], True keeps; gives [b h t e]."""
    return FUNCTION(q, k, v, mask)
''',
    "torch": '''"""An adapter: attnlab conform adapter.py::mine --as causal"""

import torch

from PACKAGE import Module

module = Module().eval()


def mine(q, k, v, mask=None):
    """q [b h t d], k [b h s d], v [b h s e], mask [t s] or [b h t s], True keeps; gives [b h t e]."""
    return module.attend(q, k, v, mask)
''',
    "jax": '''"""An adapter: attnlab conform adapter.py::mine --as causal"""

import jax

from PACKAGE import function


@jax.jit
def mine(q, k, v, mask=None):
    """q [b h t d], k [b h s d], v [b h s e], mask [t s] or [b h t s], True keeps; gives [b h t e]."""
    return function(q, k, v, mask)
''',
}
"""Adapters to fill in."""
