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
"""Commands before a cell that run it as it is. After `timeit` no name is left."""

OF_LINES = ("time", "prun")
"""Commands before a line that do so."""

ASSIGNED = re.compile(r"([\w., ]+=)\s*[!%]")
"""A line that assigns what a command gives."""

UNKNOWN = "value_of_a_command"
"""A name that no notebook has, in place of such a command: the assignment fails."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MEASURES = ("time", "timeit", "prun", "memit", "mprun", "lprun")
"""Commands that run the code after them and leave none of its names."""

SET_NAMES = _words(
    "run reset reset_selective xdel load loadpy rerun recall rep macro store edit ed pylab cython px autopx "
    "cpaste paste"
)
"""Commands of a line that set or remove names."""

KEEP_NAMES = _words(
    "time capture bash sh script cmd system sx html HTML latex markdown svg SVG javascript js writefile file perl "
    "ruby python python2 python3 pypy"
)
"""Commands of a cell that set none. Jupyter refuses the first two where they come as far as here."""


class Unreadable(Exception):
    """The notebook gives no function, or not the one that Jupyter would. The message says why."""


class Damaged(Unreadable):
    """It is no notebook at all."""


class Cell(NamedTuple):
    """A cell of code."""

    number: int
    """From 1, cells of text included."""
    tree: ast.Module
    commands: dict[int, str]
    """The commands of Jupyter by their lines."""


def run(path: str, module: ModuleType, effects: Any) -> str:
    """Run the imports, definitions and assignments of a notebook, in the order of its cells, and no other line.

    The other lines draw, print, train or speak to the notebook's own program. An assignment that fails is left out,
    because it may need one of them.

    Args:
        path: the notebook.
        module: what gets its names.
        effects: `effects.Effects` of the module. It is told which lines are run, and which are left out.

    Returns:
        The lines left out, for people; empty if there are none.

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
            if isinstance(node, defined | assigned):
                try:
                    # One that waits (`await`) is left out.
                    code = compile(ast.Module([node], []), f"{path}, cell {number}", "exec", flags)
                    exec(code, vars(module))
                    effects.add_run(node)
                    continue
                except Exception as error:
                    # A definition may need what a line that was left out would set.
                    if isinstance(node, defined) and not effects.explains(error):
                        raise
            effects.add_left_out(node, commands.get(node.lineno, ""), f"cell {number}, line {node.lineno}")
            if node.lineno not in commands:
                left[number].append(node.lineno)
    told = [
        f"cell {number}, line{'s' * (len(lines) > 1)} {', '.join(map(str, sorted(lines)))}"
        for number, lines in left.items()
        if lines
    ]
    return "; ".join(told)


def commanded(text: str) -> list[ast.AST | None]:
    """The code that a command of Jupyter runs. None stands for code that is not in the notebook."""
    if assigned := ASSIGNED.match(text):
        text = text[assigned.end() - 1 :]
    first, _, cell = text.partition("\n")
    name, _, rest = first.lstrip("%").partition(" ")
    if not text.startswith("%"):
        return []
    if name not in MEASURES or ("\n" in text and name == "time"):
        return [None] if (name and name not in KEEP_NAMES if text.startswith("%%") else name in SET_NAMES) else []
    words = rest.split(" ")
    while words and (words[0][:1] in ("", "-") or not _parsed(" ".join(words))):
        # Options, and what follows them.
        del words[0]
    codes = [_parsed(" ".join(words)), _parsed(cell)]
    return [None] if None in codes or (rest.strip(" -") and not words and not cell) else [*codes]


def _parsed(text: str) -> ast.AST | None:
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(text)
    return None


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
    lines, commands = source.split("\n"), dict[int, str]()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        commands[first + 1] = "\n".join(lines[first:])
        name, _, rest = lines[first][2:].rstrip().partition(" ")
        # A statement there is run by some commands, and refused by others.
        is_transparent = name == "capture" or (name in TRANSPARENT and rest.strip()[:1] in ("", "-"))
        lines[first:] = ["", *lines[first + 1 :]] if is_transparent else ["pass", *[""] * len(lines[first + 1 :])]
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
            begin, commands[at] = at, line
            while not keeps and line.endswith("\\") and at < len(lines):
                line, lines[at] = lines[at].rstrip("\r"), ""
                commands[begin] = commands[begin][:-1] + line
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
            Unreadable: if Python cannot read it, or it runs what is not in the file.
        """
        self._run(f"%%{name} {line}".rstrip() + f"\n{cell}")

    def run_line_magic(self, name: str, line: str, *_: Any) -> None:
        """Run the line if its command runs it as it is.

        Raises:
            Unreadable: if Python cannot read it, or it runs what is not in the file.
        """
        self._run(f"%{name} {line}".rstrip())

    def magic(self, line: str) -> None:
        """Run the line as `run_line_magic` does.

        Raises:
            Unreadable: if Python cannot read it, or it runs what is not in the file.
        """
        self._run(f"%{line}")

    def _run(self, source: str) -> None:
        path = self._module.__file__ or "cell"
        cell = _cell(path, 1, source)
        for command in cell.commands.values():
            if None in commanded(command):
                raise Unreadable(f"cannot be read by code: {command.split()[0]} runs what is not in the file")
        exec(compile(cell.tree, path, "exec"), vars(self._module))

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None
