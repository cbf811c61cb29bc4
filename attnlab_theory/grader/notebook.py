"""A notebook as a file of definitions. `child` uses it inside the fences, so it imports nothing of this package."""

import ast
import contextlib
import json
from types import ModuleType


class Unreadable(Exception):
    """The notebook gives no function. The message says why."""


def run(path: str, names: list[str], module: ModuleType) -> None:
    """Run the imports, definitions and assignments of a notebook, in the order of its cells, and no other line.

    The other lines draw, print, train or speak to the notebook's own program. An assignment that fails is left out,
    because it may need one of them. A use of its name then raises a NameError.

    Raises:
        Unreadable: if it is not a notebook, or defines one of the names more than once.
        BaseException: what its definitions raise.
    """
    cells = _cells(path)
    defined = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    trees = {number: ast.parse(source, f"{path}, cell {number}") for number, source in cells.items()}
    for function in names:
        defining = [
            number
            for number, tree in trees.items()
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == function
        ]
        if len(defining) > 1:
            named = ", ".join(map(str, defining))
            raise Unreadable(f"defines '{function}' {len(defining)} times, in cells {named}; leave one of them")
    for number, tree in trees.items():
        for node in tree.body:
            code = compile(ast.Module([node], []), f"{path}, cell {number}", "exec")
            if isinstance(node, defined):
                exec(code, vars(module))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                with contextlib.suppress(Exception):
                    exec(code, vars(module))


def _cells(path: str) -> dict[int, str]:
    """The cells of code by their number, from 1, without lines that only a notebook's own program can read."""
    try:
        with open(path, encoding="utf-8") as file:
            written = json.load(file)["cells"]
        sources = {
            number: "".join(cell["source"])
            for number, cell in enumerate(written, 1)
            if cell["cell_type"] == "code" and not "".join(cell["source"]).startswith("%%")
        }
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OSError):
        raise Unreadable("is not a notebook: it must be the JSON file that Jupyter saves") from None
    commands = ("%", "!", "?")
    return {
        number: "\n".join("" if line.lstrip().startswith(commands) else line for line in source.split("\n"))
        for number, source in sources.items()
    }
