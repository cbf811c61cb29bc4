"""The source code of a claim: its declaration, its draw, and the formulas that predict."""

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from attnlab_theory.claims import Claim

MOST_LINES = 80
"""A longer piece is cut off here."""


def pieces(claim: Claim[Any], root: Path) -> list[tuple[str, str, str]]:
    """What a reader has to see to check a claim: for each piece a heading, its file and its lines.

    Args:
        claim: of the lab.
        root: the folder around the package, which paths of files are told from.
    """
    module = sys.modules[claim.kind.__module__]
    found = [("What is claimed", *told)] if (told := _declaration(claim.name, claim.kind.__module__)) else []
    found += [("What predicts", *told) for told in _formulas(claim.predict, module)]
    found += [("What is drawn", *told) for told in _functions(claim.draw)]
    kept = {lines: (heading, _told(path, root), lines) for heading, path, lines in found}
    return list(kept.values())


def _told(path: str, root: Path) -> str:
    file = Path(path)
    package = Path(__file__).parents[2]
    return file.relative_to(package).as_posix() if file.is_relative_to(package) else file.name


@functools.cache
def _statements(folder: str) -> list[tuple[str, str, set[str]]]:
    """Every statement at the top of a topic's files: file, lines, and the texts in it."""
    found = []
    for path in sorted(Path(folder).glob("*.py")):
        source = path.read_text("utf-8")
        lines = source.splitlines()
        for node in ast.parse(source).body:
            texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            found.append((str(path), _cut("\n".join(lines[node.lineno - 1 : node.end_lineno])), texts))
    return found


def _declaration(name: str, module: str) -> tuple[str, str] | None:
    """The statement of a file in which a claim gets its name."""
    folder = str(Path(str(sys.modules[module].__file__)).parent)
    named = [(path, lines) for path, lines, texts in _statements(folder) if name in texts]
    return named[0] if named else None


def _formulas(predict: Any, module: ModuleType) -> Iterator[tuple[str, str]]:
    """The functions of `theory` that a prediction calls."""
    if not callable(predict):
        return
    for function in _called(predict):
        if function.__module__.startswith("attnlab_theory.theory."):
            yield from _functions(function)


def _called(function: Callable[..., Any], depth: int = 3) -> Iterator[Callable[..., Any]]:
    """The functions that a function names, and those that its own helpers name."""
    code = getattr(_bare(function), "__code__", None)
    if code is None or depth == 0:
        return
    known = _bare(function).__globals__
    places = [known.get(name) for name in code.co_names]
    attributes = [
        getattr(place, name, None) for place in places if isinstance(place, ModuleType) for name in code.co_names
    ]
    for each in dict.fromkeys(x for x in (*places, *attributes) if inspect.isfunction(x)):
        yield each
        if each.__module__ == _bare(function).__module__:
            yield from _called(each, depth - 1)


def _functions(function: Any) -> Iterator[tuple[str, str]]:
    bare = _bare(function)
    if not inspect.isfunction(bare) or bare.__name__ == "<lambda>":
        return  # it stands in the declaration
    yield str(inspect.getsourcefile(bare)), _cut(inspect.getsource(bare).rstrip())


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else function


def _cut(lines: str) -> str:
    every = lines.splitlines()
    return lines if len(every) <= MOST_LINES else "\n".join([*every[:MOST_LINES], "# …"])
