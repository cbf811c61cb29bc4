"""The process that runs somebody's function, inside the fences that `launcher` has put up.

It imports nothing of this package, and numpy only when an array arrives. So it starts in a few hundredths of a
second. Requests and replies are lines of JSON, and a reply has the number of its request. What the submitted code
prints goes to the judge by a pipe of its own. Its standard input is empty.
"""

import base64
import contextlib
import difflib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import Any


class Broken(Exception):
    """The submission cannot be called. The message is the line for the user. The reason is a word of `reasons`.
    What it lacks is a function of the names that were asked for."""

    def __init__(self, message: str, reason: str = "", *, lacks: bool = False) -> None:
        super().__init__(message)
        self.reason, self.lacks = reason, lacks


def main(in_force: list[str], notebook: ModuleType, effects: ModuleType) -> None:
    """Report which fences stand, load the named function, and answer calls until the pipe is closed."""
    requests, replies = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)  # pyright: ignore[reportAttributeAccessIssue]
    if "pid" not in in_force:
        threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    process, clock = os.getpid(), time.process_time

    found: dict[str, Any] = {}

    def reply(number: int, compute: Callable[[], list[dict[str, Any]]]) -> None:
        try:
            message: dict[str, Any] = {"arrays": compute()}
        except Broken as broken:
            message = {"broken": str(broken), "reason": broken.reason, "lacks": broken.lacks}
        # The submitted code may have forked: a copy of this process has the pipe too, and one answer is enough.
        if os.getpid() != process:
            os._exit(0)
        replies.write(json.dumps({"number": number, "seconds": clock(), **found, **message}) + "\n")
        replies.flush()

    replies.write(json.dumps({"in_force": in_force}) + "\n")
    replies.flush()
    first = json.loads(next(requests))
    path = first["path"]
    loaded: list[Callable[..., Any]] = []

    def load() -> list[dict[str, Any]]:
        module, found["left_out"], left = _opened(path, notebook, effects)
        if left and (name := left.unset_name(first["names"])):
            at = f"{name} would set or change, and code does not run that line"
            raise Broken(f"cannot be judged by code: it reads {at}", "inconclusive")
        found["function"], function = _function(module, first["names"])
        if first["instances"] and isinstance(function, type):
            function = _instance(path, found["function"], function)
        found["optional"] = _optional(function)
        if first["instances"]:
            found.update(_evaluated(function))
        loaded.append(function)
        return []

    reply(first["number"], load)
    for line in requests:
        request = json.loads(line)
        reply(request["number"], lambda request=request: _call(loaded[0], path, request))


def leave_with_parent(parent: int) -> None:
    """End this process when its parent has ended. An endless loop does not notice that nobody waits any more."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def _opened(path: str, notebook: ModuleType, effects: ModuleType) -> tuple[ModuleType, str, Any]:
    """The file or the notebook as a module, the lines left out of the notebook, and what they would change."""
    sys.path.insert(0, os.path.dirname(path))
    with _explained(path):
        try:
            if not path.lower().endswith(".ipynb"):
                return _module(path, notebook), "", None
            module = sys.modules["submission"] = ModuleType("submission")
            left = effects.Effects(module, notebook.commanded)
            return module, notebook.run(path, module, left), left
        except notebook.Damaged as damaged:
            raise Broken(str(damaged)) from None
        except notebook.Unreadable as unreadable:
            raise Broken(str(unreadable), "inconclusive") from None
        except ModuleNotFoundError as error:
            # The judge may lack a library that its author had.
            missing = f"raised ModuleNotFoundError: {_shown(error)}{_place(error.__traceback__, path)}"
            raise Broken(f"{missing}; it is not installed here", "inconclusive") from None


def _function(module: ModuleType, names: list[str]) -> tuple[str, Callable[..., Any]]:
    """The first of these names that the module defines, and the function of that name."""
    for function in names:
        found = getattr(module, function, None)
        if callable(found):
            return function, found
        if found is not None:
            raise Broken(f"has a '{function}', a value {_kind(found)}, not a function")
    raise Broken(f"has no function '{names[0]}'{_nearest(names[0], module)}", lacks=True)


def _instance(path: str, name: str, kind: type) -> Callable[..., Any]:
    """An instance of a class, made without arguments. Whoever names a class means its instance."""
    instance = "model" if name != "model" else "instance"
    if missing := _needed(kind):
        torch = sys.modules.get("torch")
        ends = ".eval()" if torch is not None and issubclass(kind, torch.nn.Module) else ""
        given = ", ".join(f"{each}=..." for each in missing)
        raise Broken(
            f"is a class that must be given {', '.join(missing)}: write {instance} = {name}({given}){ends} into a "
            f"file that imports it, and name that: ::{instance}"
        )
    try:
        with _explained(path):
            made = kind()
    except Broken as broken:
        raise Broken(
            f"is a class, and making an instance without arguments {broken}: write {instance} = {name}(...) into a "
            f"file that imports it, with .eval() if it is a module of torch's, and name that: ::{instance}"
        ) from None
    if not callable(made):
        raise Broken(f"is a class whose instances cannot be called: it needs a __call__{_nearest('forward', kind)}")
    return made


def _needed(kind: type) -> list[str]:
    """What a class must be given."""
    import inspect

    try:
        wanted = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return []
    left_out = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in wanted if each.default is inspect.Parameter.empty and each.kind not in left_out]


CHANNELS_FIRST = ("instancenorm", "batchnorm", "conv", "pooling")
"""Modules of torch.nn that read [batch, channels, time]. A few take other arrays, too, and say no word."""


def _evaluated(function: Callable[..., Any]) -> dict[str, str | bool]:
    """The mode of a module of torch, and whether it reads channels before time. From now on it evaluates."""
    torch = sys.modules.get("torch")
    mode = getattr(function, "training", None)
    if torch is None or not isinstance(mode, bool) or not callable(getattr(function, "eval", None)):
        return {}
    if mode:
        function.eval()  # pyright: ignore[reportFunctionMemberAccess]
    first = type(function).__module__ in [f"torch.nn.modules.{name}" for name in CHANNELS_FIRST]
    return {"mode": "training" if mode else "evaluation", "channels first": first}


def _optional(function: Callable[..., Any]) -> list[str]:
    """The parameters that need not be given, by their names. In the place of any other stands an empty name."""
    import inspect

    try:
        found = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except (TypeError, ValueError):
        return []
    return ["" if each.default is inspect.Parameter.empty else each.name for each in found]


def _module(path: str, notebook: ModuleType) -> ModuleType:
    # Told what it is: a name that ends in .PY does not say so to Python.
    loader = importlib.machinery.SourceFileLoader("submission", path)
    spec = importlib.util.spec_from_file_location("submission", path, loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    # A notebook that was saved as a file of Python asks Jupyter for its commands.
    shell = notebook.Shell(module)
    vars(module)["get_ipython"] = lambda: shell
    spec.loader.exec_module(module)
    return module


def _nearest(function: str, module: ModuleType | type) -> str:
    names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    close = difflib.get_close_matches(function, names, n=1, cutoff=0.4)
    return f"; did you mean '{close[0]}'?" if close else ""


def _call(function: Callable[..., Any], path: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    arguments = [_decoded(argument) for argument in request["arguments"]]
    first: Broken | None = None
    for convert in _conversions() if request["any_framework"] else (lambda array: array,):
        try:
            with _explained(path):
                returned = function(*(convert(a) if hasattr(a, "shape") else a for a in arguments))
                if leading := request.get("leading"):
                    returned = _outputs(returned, leading)
                return [_encoded(part) for part in _parts(returned, request["parts"])]
        except Broken as broken:
            # The first is the likeliest kind of array, so its failure is the one to read.
            first = first or broken
    raise first or Broken("was not called")


def _conversions() -> list[Callable[[Any], Any]]:
    """The kinds of array to try. A file that imports torch or jax beside numpy works on their arrays."""
    found: list[Callable[[Any], Any]] = []
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None:
        # A model may have weights in double precision, which takes no floats.
        found += [torch.from_numpy, lambda array: torch.from_numpy(array.astype("float64"))]
    if jax is not None:
        found += [jax.numpy.asarray]
    return [*found, lambda array: array]


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn an exception of the submitted code, even SystemExit, into one line."""
    try:
        yield
    except Broken:
        raise
    except SyntaxError as error:
        named = error.filename or ""
        within = named.removeprefix(path).removeprefix(", ") if named.startswith(path) else named
        where = f"{within}, line {error.lineno}" if within else f"line {error.lineno}"
        # Python does not say in which line, or even in which file, a NUL byte is.
        where = "" if error.lineno is None else f" ({where})"
        said = f"cannot be read: {type(error).__name__}: {_shown(error.msg)}{where}"
        # An encoding that Python does not read is no mistake of an answer.
        raise Broken(said, "raised" if error.lineno is not None else "inconclusive") from None
    except NotImplementedError as error:
        said = f"NotImplementedError: {_shown(error)}".rstrip(": ")
        raise Broken(f"is not filled in yet: it raises {said}", "raised") from None
    except SystemExit as error:
        said = f"called exit({_shown(error.code)}){_place(error.__traceback__, path)} instead of answering"
        raise Broken(said, "ended") from None
    except BaseException as error:
        what = f"{type(error).__name__}: {_shown(error)}".rstrip(": ")
        reason = "too much memory" if isinstance(error, MemoryError) else "raised"
        raise Broken(f"raised {what}{_place(error.__traceback__, path)}", reason) from None


def _place(traceback: TracebackType | None, path: str) -> str:
    place = ""
    while traceback is not None:
        # In a notebook the path is followed by the cell.
        if (name := traceback.tb_frame.f_code.co_filename).startswith(path):
            place = f" ({name.removeprefix(path).removeprefix(', ')}, line {traceback.tb_lineno})".replace(
                "(, ", "("
            )
        traceback = traceback.tb_next
    return place


def _shown(value: object) -> str:
    """The text of an exception or another object of the submission, in one line of printable characters."""
    try:
        said = str(value)
    except BaseException:
        said = ""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(said.split()))
    return text if len(text) <= 200 else text[:197] + "..."


def _kind(value: Any) -> str:
    return "that is None" if value is None else f"of type {type(value).__name__}"


def _outputs(returned: Any, leading: list[int]) -> Any:
    """The outputs of a model. A loss of None, and states that are no array, are dropped.

    In a dictionary, the only array with a row at each place of the leading axes counts.
    """
    if isinstance(returned, tuple):
        left = [part for part in returned if part is not None]
        if left and hasattr(left[0], "shape"):
            left = [part for part in left if hasattr(part, "shape")]
        return left[0] if len(left) == 1 < len(returned) else tuple(left)
    if not isinstance(returned, dict):
        return returned
    shapes = {str(name): tuple(getattr(value, "shape", ())) for name, value in returned.items()}
    # A wrapper may make a batch of one around the rows.
    fits = [leading, [1, *leading]] if len(leading) == 1 else [leading]
    fitting = [name for name, shape in shapes.items() if [*shape[:-1]] in fits]
    if len(fitting) != 1:
        told = ", ".join(f"{_shown(name)} {[*shape]}" for name, shape in shapes.items()) or "nothing"
        which = "none of them has" if not fitting else "several of them have"
        raise Broken(f"returned a dictionary of {told}, and {which} a row for each position", "wrong shape")
    return next(value for name, value in returned.items() if str(name) == fitting[0])


def _parts(returned: Any, parts: int) -> list[Any]:
    if parts == 1:
        return [returned]
    if isinstance(returned, tuple | list) or getattr(returned, "shape", ()):
        listed: list[Any] = list(returned)
        if len(listed) == parts:
            return listed
    size = f" of length {len(returned)}" if hasattr(returned, "__len__") else ""
    raise Broken(f"must return {parts} arrays, but returned a value {_kind(returned)}{size}", "wrong shape")


def _encoded(value: Any) -> dict[str, Any]:
    import numpy as np

    kind = ""
    try:
        if hasattr(value, "detach"):  # a torch tensor, perhaps one that numpy has no type for
            kind = str(value.dtype).removeprefix("torch.")
            value = value.detach().cpu()
            value = value.numpy() if value.is_complex() else value.double().numpy()
        array = np.asarray(value)
        # float() of None is an error, but numpy makes it NaN; a string that holds a number would pass, too.
        numeric = array.dtype.kind in "fiub" or array.dtype.name in ("bfloat16", "float16")
        kind = kind or array.dtype.name
        fits = True
        if numeric:
            given, array = array, array.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                fits = not np.any((array.astype(given.dtype) != given) & (given == given))
    except BaseException as error:
        said = f"returned something that is not an array of numbers: {_shown(error)}"
        raise Broken(said, "wrong shape") from None
    if not fits:
        raise Broken(f"returned numbers of {kind} that float64 does not hold: return float64", "wrong shape")
    if not numeric:
        described = f"a value {_kind(value)}" if array.dtype.kind == "O" else f"an array of {array.dtype.name}"
        remedy = "; return its real part, or the parts beside each other" if array.dtype.kind == "c" else ""
        raise Broken(f"must return real numbers, but returned {described}{remedy}", "wrong shape")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": array.shape, "kind": kind, "data": data}


def _decoded(argument: Any) -> Any:
    if not isinstance(argument, dict):
        return argument
    import numpy as np

    # A copy: an answer may write into what it was given.
    flat = np.frombuffer(base64.b64decode(argument["data"]), dtype=argument["kind"])
    return flat.reshape(argument["shape"]).copy()
