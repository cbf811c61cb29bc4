"""A notebook as a file of definitions. `child` uses it inside the fences, so it imports nothing of this package.

Jupyter's own commands are told from Python by Python's grammar: a line is a command only if Python cannot read it
where it stands. So `% 3` inside an expression stays a remainder.
"""

import __future__

import ast
import contextlib
import json
import re
from types import ModuleType
from typing import Any, NamedTuple

TRANSPARENT = ("time", "capture", "prun")
"""Commands before a cell or a line that run it as it is. After `timeit` no name is left."""

ASSIGNED = re.compile(r"[\w., ]+=\s*[!%]")
"""A line that assigns what a command gives."""


class Unreadable(Exception):
    """The notebook gives no function, or not the one that Jupyter would. The message says why."""


class Damaged(Unreadable):
    """It is no notebook at all."""


class Cell(NamedTuple):
    """A cell of code."""

    number: int
    """From 1, cells of text included."""
    tree: ast.Module
    commands: list[int]
    """The lines that are commands of Jupyter."""


def run(path: str, module: ModuleType) -> str:
    """Run the imports, definitions and assignments of a notebook, in the order of its cells, and no other line.

    The other lines draw, print, train or speak to the notebook's own program. An assignment that fails is left out,
    because it may need one of them. A use of its name then raises a NameError.

    Returns:
        The lines that were left out, for people; empty if there are none.

    Raises:
        Damaged: if it is not a notebook.
        Unreadable: if a cell is neither Python nor commands.
        BaseException: what its definitions raise.
    """
    defined = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    assigned = ast.Assign | ast.AnnAssign | ast.AugAssign
    left: dict[int, list[int]] = {}
    flags = 0
    for number, tree, commands in [_cell(path, number, source) for number, source in _cells(path).items()]:
        left[number] = [*commands]
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                # As in Jupyter, for all cells that follow.
                flags |= sum(getattr(__future__, name.name).compiler_flag for name in node.names)
            one, name = ast.Module([node], []), f"{path}, cell {number}"
            done = isinstance(node, defined)
            if done:
                exec(compile(one, name, "exec", flags), vars(module))
            elif isinstance(node, assigned):
                try:
                    # One that waits (`await`) is left out.
                    exec(compile(one, name, "exec", flags), vars(module))
                    done = True
                except Exception:
                    # Jupyter's value is not known here, and an earlier one is another.
                    for name in _bound(node):
                        vars(module).pop(name, None)
            if not done and node.lineno not in commands:
                left[number].append(node.lineno)
    told = [
        f"cell {number}, line{'s' * (len(lines) > 1)} {', '.join(map(str, sorted(lines)))}"
        for number, lines in left.items()
        if lines
    ]
    return "; ".join(told)


def _bound(node: ast.stmt) -> set[str]:
    """The names that an assignment binds, or whose values it changes."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    every = [each for target in targets for each in ast.walk(target)]
    changed = {each.id for each in every if isinstance(each, ast.Name)}
    # Of L[i] it is L, and the index stays as it was.
    inside = [each.slice for each in every if isinstance(each, ast.Subscript)]
    return changed - {each.id for index in inside for each in ast.walk(index) if isinstance(each, ast.Name)}


def _cells(path: str) -> dict[int, str]:
    """The cells of code by their number, from 1."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            written = json.load(file)["cells"]
        return {
            number: "".join(cell["source"]) for number, cell in enumerate(written, 1) if cell["cell_type"] == "code"
        }
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OSError):
        raise Damaged("is not a notebook: it must be the JSON file that Jupyter saves") from None


def _cell(path: str, number: int, source: str) -> Cell:
    """A cell without the commands of Jupyter.

    Raises:
        Unreadable: if Python cannot read the rest, or a definition holds a command.
    """
    lines, commands = source.split("\n"), list[int]()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        commands.append(first + 1)
        is_transparent = lines[first][2:].split()[:1] and lines[first][2:].split()[0] in TRANSPARENT
        lines[first:] = ["", *lines[first + 1 :]] if is_transparent else [""] * len(lines[first:])
    while True:
        try:
            tree = ast.parse("\n".join(lines), f"{path}, cell {number}")
            # A `return` outside of functions, which the grammar allows, keeps Jupyter from running any line of it.
            compile(tree, path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            return Cell(number, tree, commands)
        except SyntaxError as error:
            at = error.lineno or 0
            while 1 < at <= len(lines) and lines[at - 2].endswith("\\"):
                at -= 1
            line = lines[at - 1] if 0 < at <= len(lines) else ""
            if not _is_command(line) or not (line[:1].isspace() or _begins(lines[: at - 1])):
                raise Unreadable(
                    f"cannot be read by code: cell {number}, line {at} is neither Python nor a command of Jupyter"
                ) from None
            if line[:1].isspace():
                raise Unreadable(
                    f"cannot be read by code: cell {number}, line {at} is a command of Jupyter inside a definition"
                ) from None
            word, _, rest = line[1:].strip().partition(" ")
            keeps = line.startswith("%") and word in TRANSPARENT and rest.strip() and not rest.startswith("-")
            lines[at - 1] = rest.strip() if keeps else ""
            commands.append(at)
            while not keeps and line.endswith("\\") and at < len(lines):
                line, lines[at] = lines[at], ""
                at += 1


def _begins(before: list[str]) -> bool:
    """Whether the next line begins a statement: nothing before it is open."""
    with contextlib.suppress(SyntaxError):
        ast.parse("\n".join("pass" if _is_command(line) else line for line in before))
        return True
    return False


def _is_command(line: str) -> bool:
    text = line.strip()
    return text.startswith(("%", "!", "?")) or text.endswith("?") or bool(ASSIGNED.match(text))


class Shell:
    """What `get_ipython()` gives in a notebook that was saved as a file of Python."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Run the cell if its command runs it as it is."""
        if name in TRANSPARENT:
            exec(compile(cell, self._module.__file__ or "cell", "exec"), vars(self._module))

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None
