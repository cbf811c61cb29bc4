"""What may be changed in a source file, one thing at a time, and the source with the change.

A change replaces the text of one expression; all else in the file stays as it is. Changes lie in functions and
lambdas. Numbers at the top of a module or in a default are choices and have none.
"""

import ast
import copy
import dataclasses
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "attnlab_theory"

CALLS = {
    *("abs", "exp", "expm1", "log", "log1p", "log2", "log10", "tanh", "sin", "cos", "square", "sort", "sorted"),
    *("cumsum", "conj", "softmax", "log_softmax", "sigmoid", "relu", "gelu", "stop_gradient", "reversed"),
    *("ceil", "floor", "round", "nan_to_num", "lower", "strip"),
}
"""Functions of one value to another of its kind: without the call, the program still runs."""
OF_TWO = {"min", "max", "minimum", "maximum"}

COUNTED = {"range", "arange", "eye", "zeros", "ones", "full", "tile", "linspace", "reshape", "PRNGKey", "split"}
NO_FORMULA = {
    *("axis", "axes", "ndmin", "dtype", "ord", "ddof", "size", "dx", "seed", "num", "shape", "fill_value"),
    *("bracket", "bounds", "epsabs", "epsrel", "limit", "xtol", "options", "maxiter", "tol", "rtol", "atol"),
}
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


@dataclasses.dataclass(frozen=True)
class Change:
    """One expression of a file and what takes its place."""

    file: str
    """From the root, with slashes."""
    line: int
    text: str
    """The line, stripped."""
    function: str
    """The innermost function or lambda around it: FILE:LINE:NAME."""
    kind: str
    change: str
    """BEFORE -> AFTER."""
    start: int
    end: int
    """In bytes of the file."""
    after: str
    was: int | None = None
    """Where it began in the file of an older record, which tells it there from others of its line."""

    def source(self, before: bytes) -> bytes:
        """The file with the change."""
        lines = before[self.start : self.end].count(b"\n")  # what comes after stays on its lines
        return before[: self.start] + f"({self.after}".encode() + b"\n" * lines + b")" + before[self.end :]


def files_of(room: str) -> list[Path]:
    """The modules of a room or below a folder of it, or one file; tables of imports are none.

    Raises:
        ValueError: if there is no such room.
    """
    path = PACKAGE / room
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    if not found:
        raise ValueError(f"{room} is no room of attnlab_theory, nor a folder or a file in one")
    return [each for each in found if each.name != "__init__.py"]


def changes_of(path: Path, root: Path = ROOT) -> list[Change]:
    """Every change of a file, in the order of its lines."""
    source = path.read_bytes()
    tree, lines = ast.parse(source), source.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    file = path.relative_to(root).as_posix()
    found = []
    for node, function, kind, after in _changed(tree, file):
        assert isinstance(node, ast.expr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        changed = ast.unparse(ast.fix_missing_locations(after))
        found.append(
            Change(
                file=file,
                line=node.lineno,
                text=lines[node.lineno - 1].decode().strip(),
                function=function,
                kind=kind,
                change=f"{ast.unparse(node)} -> {changed}",
                start=starts[node.lineno - 1] + node.col_offset,
                end=starts[node.end_lineno - 1] + node.end_col_offset,
                after=changed,
            )
        )
    return sorted(found, key=lambda c: (c.start, c.end, c.after))


def name_of(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    """A function's name that no other of the file has."""
    return f"{file}:{node.lineno}:{getattr(node, 'name', f'lambda at {node.col_offset}')}"


def _changed(tree: ast.Module, file: str) -> Iterator[tuple[ast.AST, str, str, ast.expr]]:
    """Expressions with their function, the kind of the change, and what takes their place."""
    stack: list[tuple[ast.AST, str, frozenset[str]]] = [(tree, "", frozenset())]
    while stack:
        node, function, marks = stack.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            continue
        if function:
            for kind, after in _ways(node, marks):
                yield node, function, kind, after
        for child, more in _children(node):
            inside = function
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inside = name_of(file, node)
            kept = marks - {"added", "multiplied", "power", "compared"} if isinstance(child, ast.expr) else marks
            stack.append((child, inside, kept | more))


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Parts of a node in which changes may lie, with what they are there."""
    none: frozenset[str] = frozenset()
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from ((part, none) for part in node.body)
        case ast.Lambda():
            yield node.body, none
        case ast.AnnAssign():
            if node.value:
                yield node.value, none
        case ast.Subscript():
            yield node.value, none
            # A number of an axis names it; another axis is another program.
            axis = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            yield node.slice, frozenset({"choice"} if axis else {"counts"})
        case ast.BinOp():
            how = {ast.Add: "added", ast.Sub: "added", ast.Mult: "multiplied", ast.Div: "multiplied"}
            mark = how.get(type(node.op), "counts" if isinstance(node.op, ast.FloorDiv | ast.Mod) else "")
            yield node.left, frozenset({mark}) - {""}
            yield node.right, frozenset({"power" if isinstance(node.op, ast.Pow) else mark}) - {""}
        case ast.Compare():
            yield from ((part, frozenset({"compared"})) for part in (node.left, *node.comparators))
        case ast.Call():
            called = _called(node)
            marks = frozenset({"counts"} if called in COUNTED else ())
            yield node.func, none
            yield from ((part, marks) for part in node.args)
            for keyword in node.keywords:
                yield keyword.value, frozenset({"choice"}) if keyword.arg in NO_FORMULA else none
        case _:
            yield from ((part, none) for part in ast.iter_child_nodes(node))


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _ways(node: ast.AST, marks: frozenset[str]) -> Iterator[tuple[str, ast.expr]]:
    counted = "counts" in marks or "choice" in marks
    match node:
        case ast.Constant(value=bool() | str() | bytes() | None):
            return
        case ast.Constant(value=float(number)) if number != 0 and not counted and "power" not in marks:
            yield "constant", ast.Constant(1.05 * number)
        case ast.Constant(value=int(number)) if "choice" not in marks:
            if "multiplied" in marks and not counted and number != 0:
                yield "constant", ast.Constant(1.05 * number)
            elif marks & {"added", "compared", "counts"}:
                yield "off by one", ast.Constant(number + 1)
                if number:
                    yield "off by one", ast.Constant(number - 1)
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not _joins(node):
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield "sign", ast.BinOp(node.left, other, node.right)
        case ast.UnaryOp(op=ast.USub()) if not counted:
            yield "sign", node.operand
        case ast.BinOp(op=ast.Pow()) if not counted:
            yield "exponent", ast.BinOp(node.left, ast.Pow(), ast.BinOp(node.right, ast.Mult(), ast.Constant(1.05)))
        case ast.BinOp(op=ast.Mult()) if not _joins(node):
            yield "dropped factor", node.left
            yield "dropped factor", node.right
        case ast.BinOp(op=ast.Div()) if not _joins(node):
            yield "dropped factor", node.left
        case ast.Call(keywords=[], args=[only]) if _called(node) == "sqrt":
            yield "exponent", ast.BinOp(only, ast.Pow(), ast.Constant(0.525))
            yield "dropped call", only
        case ast.Call(args=[only, *_]) if _called(node) in CALLS and not isinstance(only, ast.Starred):
            yield "dropped call", only
        case ast.Call(args=[], keywords=[], func=ast.Attribute(value=only)) if _called(node) in CALLS:
            yield "dropped call", only
        case ast.Call(args=[first, second], keywords=[]) if _called(node) in OF_TWO:
            yield "dropped call", first
            yield "dropped call", second
        case ast.Compare():
            for at, op in enumerate(node.ops):
                if type(op) in COMPARED:
                    after = copy.copy(node)
                    after.ops = [*node.ops[:at], COMPARED[type(op)](), *node.ops[at + 1 :]]
                    yield "comparison", after
        case _:
            return
    return


def _joins(node: ast.BinOp) -> bool:
    """Whether an operand shows that text, lists or paths are joined or repeated."""
    return any(
        isinstance(part, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes))
        for part in (node.left, node.right)
    )
