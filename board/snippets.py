"""What shows a failure: lines that need the library and numpy alone, and end with an assertion that fails.

Most are made of the counterexample of the suite, with the function of the adapter in front of it. Where that is not
enough, a file of the folder `snippets` is named in the catalogue.
"""

import ast
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.finding import Finding
from attnlab_theory.conform.suite import Row
from board.entry import HERE, Entry
from board.process import THREADS

SECONDS = 240.0
"""How long one may take, imports included."""

SHORT = 120
"""Characters of its last line that are kept."""


def written(file: str) -> list[str]:
    """The lines of a file of the folder `snippets`."""
    return (HERE / "snippets" / file).read_text("utf-8").splitlines()


def automatic(entry: Entry, kind: str, suite: Any, row: Row) -> list[str]:
    """The counterexample of a row, after the adapter's function; none if the suite has no place that is wrong."""
    names = entry.kinds[kind]
    lines = suite.snippet(Place("", "", "adapter", names, Path()), [row])
    found = row.counterexample
    if not lines or not isinstance(found, Finding):
        return []
    drawn = [
        line for line in lines[:-1] if not line.startswith(("import sys", "import numpy", "from adapter", "sys."))
    ]
    asked = [*excerpt(entry.adapter.read_text("utf-8"), names), "", *drawn]
    number, shown = found.number, lines[-1].removeprefix("print(").partition(", 'where")[0]
    if number and lines[-1].startswith("print(float("):
        off = abs(number.given - number.right)
        most = off / found.ratio if 0 < found.ratio < math.inf and math.isfinite(off) else 1e-3
        return [*asked, f"assert abs({shown} - {number.right:.9g}) <= {most:.3g}, {shown}"]
    return asked if found.trouble else []


def excerpt(text: str, function: str) -> list[str]:
    """The lines of a module that one of its functions needs, without docstrings, and numpy."""
    body = ast.parse(text).body
    named: dict[str, ast.stmt] = {}
    for each in body:
        for name in _defines(each):
            named[name] = each
    wanted, asked = set(), [function]
    while asked:
        name = asked.pop()
        if name in named and named[name] not in wanted:
            wanted.add(named[name])
            asked += [x.id for x in ast.walk(named[name]) if isinstance(x, ast.Name)]
    lines = ["import numpy as np"]
    for each in body:
        if each in wanted:
            if isinstance(each, ast.FunctionDef) and len(each.body) > 1 and ast.get_docstring(each) is not None:
                each.body = each.body[1:]
            text = ast.unparse(each)
            lines += (
                [] if text in lines else ([""] if isinstance(each, ast.FunctionDef) else []) + text.splitlines()
            )
    return lines


def _defines(each: ast.stmt) -> list[str]:
    match each:
        case ast.Import() | ast.ImportFrom():
            return [(x.asname or x.name).partition(".")[0] for x in each.names]
        case ast.FunctionDef() | ast.ClassDef():
            return [each.name]
        case ast.Assign():
            return [x.id for t in each.targets for x in ast.walk(t) if isinstance(x, ast.Name)]
    return []


def shown(
    lines: Sequence[str], python: Path, variables: Mapping[str, str], errors: Sequence[str]
) -> tuple[bool, str]:
    """Run a snippet where this package cannot be imported.

    Args:
        lines: of the snippet.
        python: of the environment.
        variables: of the environment of the process.
        errors: the names of the errors that show the failure.

    Returns:
        Whether it ended by one of them, and its last line.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snippet.py")
        path.write_text("\n".join(lines) + "\n", "utf-8")
        surroundings = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"} | THREADS
        try:
            done = subprocess.run(
                [python, "-I", path],
                cwd=folder,
                env=surroundings | dict(variables),
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False, f"took longer than {SECONDS:g} s"
    last = [each for each in done.stderr.splitlines() if each.strip()][-1:] or [""]
    error = last[0].partition(":")[0].rpartition(".")[2]
    return bool(done.returncode) and error in errors, last[0][:SHORT]
