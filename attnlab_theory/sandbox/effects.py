"""What the lines of a notebook that are not run would set or change.

These lines are read, and so are the functions that they call. Names that they might change lose their values, and a
function that reads such a name is left to a person. `child` uses this inside the fences, so it imports nothing of
this package.
"""

import ast
import builtins
import collections
import contextlib
import functools
import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANY = ""
"""In place of a name: code that is not in the notebook may set every name."""

SETTERS = ("exec", "eval", "globals", "locals", "vars", "__main__")
"""Names by which Python sets what no line writes down."""

METHODS = _words(
    "append extend insert pop popitem remove clear update add discard setdefault sort reverse appendleft "
    "extendleft popleft rotate fill put itemset resize partition setflags __setattr__ __delattr__ __setitem__ "
    "__delitem__ eval train fit partial_fit step backward load_state_dict"
)
"""Methods of Python and of libraries that change their object. So do those whose names end in `_`."""

CHANGERS = _words(
    "copyto put place putmask fill_diagonal put_along_axis shuffle at heappush heappop heapify heapreplace "
    "heappushpop insort insort_left insort_right setitem delitem setattr delattr"
)
"""Functions of both that change what they are given."""

LIBRARIES = sys.stdlib_module_names | _words(
    "numpy scipy torch jax jaxlib matplotlib mpl_toolkits seaborn pandas sklearn einops IPython tqdm"
)
"""Their other functions, such as `print`, `allclose` and `plot`, change nothing."""

VIEWS = _words(
    "asarray asanyarray ascontiguousarray atleast_1d atleast_2d atleast_3d reshape ravel view squeeze transpose "
    "swapaxes moveaxis expand_dims broadcast_to diagonal split from_numpy as_tensor numpy detach get next min max "
    "getattr"
)
"""Functions that may return what they are given, or a part of it."""


class Effects:
    """What the lines of a notebook that are not run would set or change.

    Args:
        module: the notebook, whose other lines are run one after the other.
        commanded: the code that a command of Jupyter runs, with None for code that is not in the notebook.
    """

    def __init__(self, module: ModuleType, commanded: Callable[[str], list[ast.AST | None]]) -> None:
        self._module, self._names, self._commanded = module, vars(module), commanded
        self._bodies = collections.defaultdict[str, list[ast.AST]](list)
        self._walks: dict[int, list[ast.AST]] = {}
        self._unknown: dict[str, str] = {}
        """Where names would get values that are not known here. Before an attribute of a module stands a dot."""
        self._changed: dict[int, tuple[str, Any]] = {}
        """Where values would be changed, and the values, by their identity: other names may have them, too."""

    def add_run(self, statement: ast.stmt) -> None:
        """A statement was run, so that the names that it gives to values have these."""
        self._learn(statement)
        for name in _bound(statement):
            self._unknown.pop(name, None)

    def explains(self, error: Exception) -> bool:
        """Whether a statement failed because a line left out would set a name."""
        return isinstance(error, NameError) and (error.name in self._unknown or ANY in self._unknown)

    def add_left_out(self, statement: ast.stmt, command: str, where: str) -> None:
        """A statement was not run. Names that it would set or change lose their values.

        Args:
            statement: the line as Python.
            command: the line as a command of Jupyter; empty if it is none.
            where: what people call the line.
        """
        self._learn(statement)
        touched = _bound(statement) | self._of(statement)
        for code in self._commanded(command):
            touched |= self._of(code) if code else {ANY}
        names = self._names
        if ANY in touched:
            touched |= {name for name in names if name[:2] != "__" and not isinstance(names[name], ModuleType)}
        for name in touched:
            # Jupyter's value is not known here, and an earlier one is another.
            self._unknown[name] = where
            if ANY not in touched or not isinstance(names.get(name), FunctionType | type):
                values = _changeable(names.pop(name, None), self._module)
                self._changed |= {id(each): (where, each) for each in values}

    def _learn(self, statement: ast.stmt) -> None:
        """Remember the functions and classes that a statement defines."""
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._bodies[node.name].append(node)
            elif isinstance(node, ast.ClassDef):
                self._bodies[node.name] += [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef)]
            elif isinstance(node, ast.Lambda):
                self._bodies["<lambda>"].append(node)

    def _of(self, code: ast.AST) -> set[str]:
        """The names whose values a piece of code may change, by whatever it calls. `ANY` is among them if all."""
        called: dict[str, list[ast.AST]] = {"": [code]}
        waiting = [code]
        while waiting:
            for node in self._walk(waiting.pop()):
                if isinstance(node, ast.Call) and (run := [each for each in self._commanded(_magic(node)) if each]):
                    called[""] += run
                    waiting += run
                if isinstance(node, ast.Name | ast.Attribute) and (word := self._word(node)) not in called:
                    called[word] = self._bodies.get(word, [])
                    waiting += called[word]
        changers: set[str] = set()
        while True:
            found = {word: [self._of_one(body, changers) for body in bodies] for word, bodies in called.items()}
            more = {word for word, each in found.items() if word and any(given for _, given in each)}
            if more == changers:
                return {name for each in found.values() for names, _ in each for name in names}
            changers = more

    def _walk(self, code: ast.AST) -> list[ast.AST]:
        # A long notebook walks through the same functions after each line.
        if id(code) not in self._walks:
            self._walks[id(code)] = [*ast.walk(code)]
        return self._walks[id(code)]

    def _of_one(self, code: ast.AST, changers: set[str]) -> tuple[set[str], bool]:
        """The names of the notebook that code changes, and whether it changes what it is given as a function."""
        parts = self._walk(code)
        names = {name for each in parts if isinstance(each, ast.Global) for name in each.names}
        is_function = isinstance(code, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        given = (
            {each.arg for each in ast.walk(code.args) if isinstance(each, ast.arg)} if is_function else set[str]()
        )
        stored = {each.id for each in parts if isinstance(each, ast.Name) and _is_stored(each)}
        local = (stored | {each.arg for each in parts if isinstance(each, ast.arg)}) - names
        alone = {id(each.value) for each in parts if isinstance(each, ast.Expr)}
        hit: set[str] = set()
        for each in parts:
            if isinstance(each, ast.Attribute | ast.Subscript) and _is_stored(each):
                owner = self._value(each.value)
                if isinstance(each, ast.Attribute) and isinstance(owner, ModuleType):
                    names |= {"." + each.attr, *([each.attr] if owner is self._module else [])}
                elif isinstance(self._value(_base(each)), ModuleType):
                    names |= {"." + part.attr for part in ast.walk(each.value) if isinstance(part, ast.Attribute)}
                else:
                    hit |= _mentioned(each.value)
                    names |= _mentioned(each.value) - local
            elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                hit.add(each.target.id)
            elif isinstance(each, ast.Call):
                hit |= self._of_call(each, changers, local) | (
                    self._of_method(each) - local if id(each) in alone else set()
                )
            if _sets_any(each, parts) or (isinstance(each, ast.Call) and None in self._commanded(_magic(each))):
                names.add(ANY)
        # A change of what only new values are called is seen by nobody else.
        hit -= self._new_names(code, parts, given)
        if (hit & local) - given:
            # It may be another name of whatever the code mentions.
            hit |= {each.id for each in parts if isinstance(each, ast.Name) and not self._is_kept(each.id)}
        return names | {each for each in hit - local if not _is_fixed(self._names.get(each))}, bool(hit & local)

    def _new_names(self, code: ast.AST, parts: list[ast.AST], given: set[str]) -> set[str]:
        """The names that code gives to new values alone, and that of a new object in its `__init__`."""
        stored = collections.Counter(each.id for each in parts if isinstance(each, ast.Name) and _is_stored(each))
        for each in parts:
            if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                if isinstance(each, ast.AugAssign) or self._is_new(each.value):
                    # What a call or a shape gives may be unpacked; a list that is written out keeps its members.
                    unpacks = isinstance(each.value, ast.Call | ast.Attribute)
                    found = [
                        part for one in targets for part in (getattr(one, "elts", [one]) if unpacks else [one])
                    ]
                    stored.subtract(part.id for part in found if isinstance(part, ast.Name))
        new = {name for name, times in stored.items() if not times} - given
        if isinstance(code, ast.FunctionDef) and code.name == "__init__":
            new |= {each.arg for each in code.args.args[:1]}
        return new

    def _of_call(self, call: ast.Call, changers: set[str], local: set[str]) -> set[str]:
        """The names whose values a call may change: those it is given, and the one whose method it is."""
        word, base, is_method = self._word(call.func), _base(call.func), isinstance(call.func, ast.Attribute)
        given = [*call.args, *(each.value for each in call.keywords)]
        names = {name for name in set[str]().union(*map(_mentioned, given)) if not self._is_kept(name)}
        words = {word, *(self._word(each) for each in given if isinstance(each, ast.Name | ast.Attribute))}
        is_ours, value = word in self._bodies and not is_method, self._value(base)
        owner = self._value(call.func.value) if isinstance(call.func, ast.Attribute) else value
        changes = (
            (words & changers and word not in ("isinstance", "print", "display"))
            or word in CHANGERS
            or (word[-1:] == "_" and word[-2:] != "__")
            or any(each.arg in ("out", "inplace") for each in call.keywords)
            or (type(of := self._value(call.func)).__name__ == "ufunc" and len(call.args) > of.nin)
        )
        if changes or (word in METHODS and not is_ours):
            unchanged = ModuleType | FunctionType if is_method else ModuleType | FunctionType | type
            if isinstance(value, ModuleType) and not isinstance(owner, ModuleType):
                parts = ast.walk(call.func)
                return names | {"." + each.attr for each in parts if isinstance(each, ast.Attribute)} - {"." + word}
            # What is put into a list stays what it was.
            names = names if changes or isinstance(owner, type) else set[str]()
            names |= {
                name
                for name in _mentioned(call.func)
                if not isinstance(self._names.get(name), unchanged) and not hasattr(builtins, name)
            }
            return names | (_mentioned(given[0]) if given and word in ("setattr", "delattr") else set())
        # A function that was handed on changes nothing if none does.
        is_handed = isinstance(base, ast.Name) and base.id in local and not changers
        is_known = is_ours or is_handed or word == "display" or (is_method and value is None)
        return set() if is_known or _library(value) in LIBRARIES | {self._module.__name__} else names

    def _of_method(self, call: ast.Call) -> set[str]:
        """The name whose method a call is. What nobody asks for the answer is there to change something."""
        base = _base(call.func)
        is_one = isinstance(call.func, ast.Attribute) and isinstance(base, ast.Name) and not self._is_kept(base.id)
        return {base.id} if is_one and isinstance(base, ast.Name) else set()

    def _word(self, node: ast.expr) -> str:
        """The name of a function or class where it is defined. For an instance it is that of the class."""
        value = self._value(node)
        while isinstance(value, functools.partial):
            value = value.func
        value = type(value) if type(value).__module__ == self._module.__name__ else value
        name: Any = ""
        with contextlib.suppress(Exception):
            name = "" if isinstance(value, ModuleType) else getattr(value, "__name__", "")
        written = str(getattr(node, "id", getattr(node, "attr", "")))
        return name if name and isinstance(name, str) else written

    def _value(self, node: ast.AST) -> Any:
        """What a name, or an attribute of a module or a class, stands for; None if that is not known."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute) and isinstance(owner := self._value(node.value), ModuleType | type):
            return vars(owner).get(node.attr)
        return None

    def _is_kept(self, name: str) -> bool:
        """Whether a call leaves this what it was: a module, a function, a class."""
        return isinstance(self._value(ast.Name(name)), ModuleType | FunctionType | BuiltinFunctionType | type)

    def _is_new(self, node: ast.expr | None) -> bool:
        """Whether an expression makes a value that has no other name."""
        if isinstance(node, ast.Call):
            return (word := self._word(node.func)) not in VIEWS and word not in self._bodies
        if isinstance(node, ast.Attribute):
            return node.attr == "shape"
        made = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.List | ast.ListComp | ast.Dict | ast.Set
        return isinstance(node, made)

    def unset_name(self, functions: Sequence[str]) -> str:
        """A name that a function reads, or a function that it calls, and the line left out that would set it.

        Args:
            functions: its names. The first that the notebook has is meant.

        Returns:
            Both for people; empty if there is no such name.
        """
        import dis

        function = next((name for name in functions if name in self._names or name in self._unknown), "")
        if not function:
            return ""

        seen: set[int] = set()
        found: list[tuple[str, Any]] = [(function, self._names.get(function))]
        while found:
            name, each = found.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            if id(each) in self._changed:
                return f"{name}, which {self._changed[id(each)][0]}"
            found += [(name, part) for part in _parts(each, self._module)]
            if isinstance(each, FunctionType):
                found.append((name, each.__code__))
            elif isinstance(each, CodeType):
                found += [(name, part) for part in each.co_consts]
                for part in dis.get_instructions(each):
                    is_name = part.opname in ("LOAD_GLOBAL", "LOAD_NAME")
                    read = str(part.argval) if is_name else f".{part.argval}"
                    is_free = is_name and read not in self._names and not hasattr(builtins, read)
                    if is_name or part.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                        if where := self._unknown.get(read) or (self._unknown.get(ANY) if is_free else None):
                            return f"{read.strip('.')}, which {where}"
                        found += [(read, self._names.get(read))] if is_name else []
        # Last: a value that it reads says more.
        return f"{function}, which {self._unknown[function]}" if function in self._unknown else ""


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


def _sets_any(node: ast.AST, parts: list[ast.AST]) -> bool:
    """Whether code sets names that it does not write down."""
    if isinstance(node, ast.Attribute) and node.attr == "modules":
        # `"torch" in sys.modules` is a question.
        asked = [each for part in parts if isinstance(part, ast.Compare) for each in part.comparators]
        return node not in asked and isinstance(node.value, ast.Name) and node.value.id == "sys"
    if isinstance(node, ast.Attribute):
        return node.attr in ("run_cell", "user_ns", "user_global_ns")
    return isinstance(node, ast.Name) and node.id in SETTERS


def _magic(call: ast.Call) -> str:
    """A command of Jupyter that is written as Python, as a line; empty if a call is none."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in ("magic", "run_line_magic", "run_cell_magic"):
        return ""
    words = [str(each.value) if isinstance(each, ast.Constant) else "" for each in call.args]
    return "%" + "%" * (name == "run_cell_magic") + " ".join(words[:2]) + "\n" + "".join(words[2:])


def _is_stored(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _base(node: ast.expr) -> ast.expr:
    """What stands in front of attributes and indices. Of L[i] it is L, and the index stays as it was."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _mentioned(node: ast.AST) -> set[str]:
    """The names whose values an expression may hand on. Arithmetic makes new values."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr):
        return set()
    inner = [node.value] if isinstance(node, ast.Attribute | ast.Subscript) else ast.iter_child_nodes(node)
    return set[str]().union(*map(_mentioned, inner))


def _library(value: Any) -> str:
    """The package of a module, of a function, or of the class of a value."""
    name = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
    return "" if value is None else str(name or type(value).__module__).partition(".")[0]


def _is_fixed(value: Any) -> bool:
    """Whether no call can change a value: a number, text, or a tuple of these. So are the arrays of JAX."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_fixed, value))
    is_number = isinstance(value, bool | int | float | complex | str | bytes | range)
    numpy = sys.modules.get("numpy")
    return (
        is_number
        or _library(type(value)) in ("jax", "jaxlib")
        or (numpy and isinstance(value, numpy.generic)) is True
    )


def _parts(value: Any, module: ModuleType) -> list[Any]:
    """The values of which one is made, functions and classes of the notebook included."""
    found: list[Any] = []
    with contextlib.suppress(Exception):
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list | tuple | set | frozenset | collections.deque):
            found += value
        elif isinstance(value, functools.partial):
            found += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, FunctionType):
            found += [getattr(value, "__wrapped__", None), *(value.__defaults__ or ())]
            found += [
                *(value.__kwdefaults__ or {}).values(),
                *(each.cell_contents for each in value.__closure__ or ()),
            ]
        elif isinstance(value, type):
            found += vars(value).values() if value.__module__ == module.__name__ else []
        elif not isinstance(value, ModuleType):
            found += [
                getattr(value, name, None) for name in ("base", "_base", "__self__", "__func__", "__wrapped__")
            ]
            if type(value).__module__ == module.__name__:
                found += [type(value), *getattr(value, "__dict__", {}).values()]
    return [each for each in found if each is not None and not _is_fixed(each)]


def _changeable(value: Any, module: ModuleType) -> list[Any]:
    """A value and all its parts that a call can change."""
    found: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if (
            id(each) not in found
            and not isinstance(each, ModuleType | FunctionType | type | None)
            and not _is_fixed(each)
        ):
            found[id(each)] = each
            waiting += _parts(each, module)
    return [*found.values()]
