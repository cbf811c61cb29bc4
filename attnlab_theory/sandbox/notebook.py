"""A notebook as a file of definitions. `child` uses it inside the fences, so it imports nothing of this package.

Jupyter's own commands are told from Python by Python's grammar: a line is a command only if Python cannot read it
where it stands. So `% 3` inside an expression stays a remainder.
"""

import __future__

import ast
import contextlib
import functools
import json
import re
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

TRANSPARENT = ("time", "capture", "prun")
"""Commands before a cell that run it as it is. After `timeit` no name is left."""

OF_LINES = ("time", "prun")
"""Commands before a line that do so."""

ASSIGNED = re.compile(r"([\w., ]+=)\s*[!%]")
"""A line that assigns what a command gives."""

UNKNOWN = "value_of_a_command"
"""A name that no notebook has, in place of such a command: the assignment fails."""


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


class LeftOut(NamedTuple):
    """What of a notebook was not run."""

    told: str
    """The lines, for people; empty if there are none."""
    unknown: dict[str, str]
    """Where names would get values that are not known here."""


def run(path: str, module: ModuleType) -> LeftOut:
    """Run the imports, definitions and assignments of a notebook, in the order of its cells, and no other line.

    The other lines draw, print, train or speak to the notebook's own program. An assignment that fails is left out,
    because it may need one of them. Names that a line left out would change have no value.

    Returns:
        What was left out.

    Raises:
        Damaged: if it is not a notebook.
        Unreadable: if a cell is neither Python nor commands.
        BaseException: what its definitions raise.
    """
    defined = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    assigned = ast.Assign | ast.AnnAssign | ast.AugAssign
    left: dict[int, list[int]] = {}
    unknown: dict[str, str] = {}
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
                    pass
            if done:
                for name in _bound(node):
                    unknown.pop(name, None)
                continue
            # A method or an index leaves a module, a function and a class what they were.
            names = vars(module)
            kept = {name for name, value in names.items() if isinstance(value, ModuleType | FunctionType | type)}
            for name in _bound(node) | _changed(node) - kept:
                # Jupyter's value is not known here, and an earlier one is another.
                names.pop(name, None)
                unknown[name] = f"cell {number}, line {node.lineno}"
            if node.lineno not in commands:
                left[number].append(node.lineno)
    told = [
        f"cell {number}, line{'s' * (len(lines) > 1)} {', '.join(map(str, sorted(lines)))}"
        for number, lines in left.items()
        if lines
    ]
    return LeftOut("; ".join(told), unknown)


def _bound(node: ast.AST) -> set[str]:
    """The names that a statement gives to values."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    if isinstance(node, ast.Lambda):
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    inner = ast.iter_child_nodes(node)
    if isinstance(node, ast.comprehension):
        # Its own names are not those of the cell.
        inner = iter([node.iter, *node.ifs])
    names = {name for name in (getattr(node, each, None) for each in ("name", "rest")) if isinstance(name, str)}
    return names.union(*map(_bound, inner))


def _changed(statement: ast.stmt) -> set[str]:
    """The names whose values a statement may change: by an index, an attribute or a method."""
    parts = [*ast.walk(statement)]
    called = [each.value.func for each in parts if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    stored = [
        each
        for each in parts
        if isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load)
    ]
    return {_root(each) for each in [*called, *stored] if isinstance(each, ast.Attribute | ast.Subscript)} - {""}


def _root(node: ast.expr) -> str:
    """The name in front of attributes and indices. Of L[i] it is L, and the index stays as it was."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def unset_name(function: Any, module: ModuleType, names: dict[str, str]) -> str:
    """The first of some names that a function of a module reads, or a function that it calls; empty if none."""
    import dis

    seen: set[int] = set()
    found = [function]
    while found:
        each = found.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, functools.partial):
            found.append(each.func)
        elif isinstance(each, FunctionType):
            found += [each.__code__, getattr(each, "__wrapped__", None)]
        elif isinstance(each, staticmethod | classmethod):
            found.append(each.__func__)
        elif isinstance(each, type) and each.__module__ == module.__name__:
            found += vars(each).values()
        elif isinstance(each, CodeType):
            found += each.co_consts
            read = [
                part.argval for part in dis.get_instructions(each) if part.opname in ("LOAD_GLOBAL", "LOAD_NAME")
            ]
            for name in read:
                if name in names:
                    return name
                found.append(vars(module).get(name))
        elif type(each).__module__ == module.__name__:
            found.append(type(each))
    return ""


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
        name, _, rest = lines[first][2:].rstrip().partition(" ")
        # A statement there is run by some commands, and refused by others.
        is_transparent = name == "capture" or (name in TRANSPARENT and rest.strip()[:1] in ("", "-"))
        lines[first:] = ["", *lines[first + 1 :]] if is_transparent else [""] * len(lines[first:])
    while True:
        try:
            tree = ast.parse("\n".join(lines), f"{path}, cell {number}")
            # A `return` outside of functions, which the grammar allows, keeps Jupyter from running any line of it.
            compile(tree, path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            return Cell(number, tree, commands)
        except (SyntaxError, ValueError) as error:
            at = error.lineno if isinstance(error, SyntaxError) else None
            if not at:
                # Half of a character, or a NUL.
                raise Unreadable(
                    f"cannot be read by code: cell {number} holds what no text of Python holds"
                ) from None
            while 1 < at <= len(lines) and lines[at - 2].endswith("\\"):
                at -= 1
            line = lines[at - 1].rstrip("\r") if at <= len(lines) else ""
            is_whole = not line.startswith("%%") and (line[:1].isspace() or _begins(lines[: at - 1]))
            if not _is_command(line) or not is_whole:
                raise Unreadable(
                    f"cannot be read by code: cell {number}, line {at} is neither Python nor a command of Jupyter"
                ) from None
            if line[:1].isspace():
                raise Unreadable(
                    f"cannot be read by code: cell {number}, line {at} is a command of Jupyter inside a definition"
                ) from None
            word, _, rest = line[1:].partition(" ")
            keeps = line.startswith("%") and word in OF_LINES and rest.strip() and rest.strip()[0] != "-"
            assigned = ASSIGNED.match(line)
            # A statement of its own, so that the lines around it are read as Jupyter reads them.
            lines[at - 1] = rest.strip() if keeps else f"{assigned[1]} {UNKNOWN}" if assigned else "pass"
            commands.append(at)
            while not keeps and line.endswith("\\") and at < len(lines):
                line, lines[at] = lines[at].rstrip("\r"), ""
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
        """Run the cell if its command runs it as it is.

        Raises:
            Unreadable: if Python cannot read it.
        """
        self._run(f"%%{name} {line}".rstrip() + f"\n{cell}")

    def run_line_magic(self, name: str, line: str, *_: Any) -> None:
        """Run the line if its command runs it as it is.

        Raises:
            Unreadable: if Python cannot read it.
        """
        self._run(f"%{name} {line}".rstrip())

    def _run(self, source: str) -> None:
        path = self._module.__file__ or "cell"
        exec(compile(_cell(path, 1, source).tree, path, "exec"), vars(self._module))

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None
