"""The child process that runs somebody's function; started by `submission`, by path and not as a module.

It imports nothing of this package and numpy only when an array arrives, so it starts in a few hundredths of
a second. One JSON value per line goes each way, a reply with the number of its request; the submitted code
never sees the pipe: what it prints is discarded, and what it reads is empty.
"""

import base64
import contextlib
import difflib
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
    """The submission cannot be asked; the message is the one line the user sees."""


def main(path: str, function: str) -> None:
    """Load the function, say so, and answer calls until the parent closes the pipe."""
    requests, replies = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    process = os.getpid()

    def reply(number: int, compute: Callable[[], list[dict[str, Any]]]) -> None:
        try:
            message: dict[str, Any] = {"arrays": compute()}
        except Broken as broken:
            message = {"broken": str(broken)}
        # The submitted code may have forked: a copy of this process has the pipe too, and one answer is enough.
        if os.getpid() != process:
            os._exit(0)
        replies.write(json.dumps({"number": number, **message}) + "\n")
        replies.flush()

    loaded: list[Callable[..., Any]] = []
    reply(0, lambda: loaded.append(_load(path, function)) or [])
    for line in requests:
        request = json.loads(line)
        reply(request["number"], lambda request=request: _call(loaded[0], path, request))


def _leave_with_parent(parent: int) -> None:
    # An endless loop does not notice that nobody is waiting any more.
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def _load(path: str, function: str) -> Callable[..., Any]:
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("submission", path)
    if spec is None or spec.loader is None:
        raise Broken("is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    with _explained(path):
        spec.loader.exec_module(module)
    found = getattr(module, function, None)
    if found is None:
        raise Broken(f"has no function '{function}'{_nearest(function, module)}")
    if not callable(found):
        raise Broken(f"has a '{function}', a value {_kind(found)}, not a function")
    return found


def _nearest(function: str, module: ModuleType) -> str:
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
                return [_encoded(part) for part in _parts(returned, request["parts"])]
        except Broken as broken:
            # The first is the likeliest kind of array, so its failure is the one to read.
            first = first or broken
    raise first or Broken("was not called")


def _conversions() -> list[Callable[[Any], Any]]:
    """Kinds of array to try: who imports torch or jax beside numpy writes functions of their arrays."""
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
    """Turn whatever the submitted code raises, SystemExit included, into one line."""
    try:
        yield
    except Broken:
        raise
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.filename == path else f"{error.filename}, line {error.lineno}"
        # Python does not say in which line, or even in which file, a NUL byte is.
        where = "" if error.lineno is None else f" ({where})"
        raise Broken(f"cannot be read: {type(error).__name__}: {_shown(error.msg)}{where}") from None
    except NotImplementedError as error:
        said = f"NotImplementedError: {_shown(error)}".rstrip(": ")
        raise Broken(f"is not filled in yet: it raises {said}") from None
    except SystemExit as error:
        raise Broken(
            f"called exit({_shown(error.code)}){_place(error.__traceback__, path)} instead of answering"
        ) from None
    except BaseException as error:
        what = f"{type(error).__name__}: {_shown(error)}".rstrip(": ")
        raise Broken(f"raised {what}{_place(error.__traceback__, path)}") from None


def _place(traceback: TracebackType | None, path: str) -> str:
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return "" if line is None else f" (line {line})"


def _shown(value: object) -> str:
    """What an exception or another object of the submission says: one line of characters that a terminal shows."""
    try:
        said = str(value)
    except BaseException:
        said = ""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(said.split()))
    return text if len(text) <= 200 else text[:197] + "..."


def _kind(value: Any) -> str:
    return "that is None" if value is None else f"of type {type(value).__name__}"


def _parts(returned: Any, parts: int) -> list[Any]:
    if parts == 1:
        return [returned]
    if isinstance(returned, tuple | list) or getattr(returned, "shape", ()):
        listed: list[Any] = list(returned)
        if len(listed) == parts:
            return listed
    size = f" of length {len(returned)}" if hasattr(returned, "__len__") else ""
    raise Broken(f"must return {parts} arrays, but returned a value {_kind(returned)}{size}")


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
        raise Broken(f"returned something that is no array of numbers: {_shown(error)}") from None
    if not fits:
        raise Broken(f"returned numbers of {kind} that float64 does not hold: return float64")
    if not numeric:
        described = f"a value {_kind(value)}" if array.dtype.kind == "O" else f"an array of {array.dtype.name}"
        raise Broken(f"must return real numbers, but returned {described}")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": array.shape, "kind": kind, "data": data}


def _decoded(argument: Any) -> Any:
    if not isinstance(argument, dict):
        return argument
    import numpy as np

    # A copy: an answer may write into what it was given.
    flat = np.frombuffer(base64.b64decode(argument["data"]), dtype=argument["kind"])
    return flat.reshape(argument["shape"]).copy()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
