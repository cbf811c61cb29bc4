"""The far side of a call: loads a target, hands it arrays of its own framework, and says what came back.

In a child this file is loaded by its path, so it imports nothing of this package. It never lets a stranger's error
through: whatever goes wrong is one line in the report.
"""

import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


class Slow(BaseException):
    """A call takes too long. Not an Exception, for a target may catch those."""


class Host:
    """A target in this process.

    Args:
        target: the function, or a class that is made without arguments.
    """

    def __init__(self, target: Any) -> None:
        self._target: Callable[..., Any] = target() if isinstance(target, type) else target
        self._kept: list[Any] = []

    def about(self) -> dict[str, Any]:
        """What can be seen of the target without a call: its parameters, and the frameworks that are loaded."""
        parameters = None
        with contextlib.suppress(TypeError, ValueError):
            parameters = [
                [each.name, each.kind.name, each.default is inspect.Parameter.empty]
                for each in inspect.signature(self._target).parameters.values()
            ]
        function = inspect.unwrap(self._target) if callable(self._target) else self._target
        own = getattr(function, "__globals__", None) or vars(sys.modules[type(function).__module__])
        names = {getattr(value, "__name__", "").partition(".")[0] for value in [*own.values()]}
        # A function may use what its file imports inside of it; loaded is loaded.
        return {"parameters": parameters, "uses": [each for each in ("torch", "jax") if each in names]}

    def call(self, plan: dict[str, Any], arrays: Sequence[np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Make one call.

        Args:
            plan: `framework`, `kind`, `strided`, `seconds`, the names of the arrays, and plain keyword arguments.
                Also, where there are any: `method`, `keep`, the places of what is kept for later calls, and
                `places` and `kept`, which hand it over by place and by name.
            arrays: q, k, v by their place, then those that are named.

        Returns:
            What happened, and the output and the weights in float64; empty where there are none.
        """
        given = [_strided(x) if plan["strided"] else x for x in arrays]
        handed = [_handed(x, plan["framework"], plan["kind"]) for x in given]
        # Of what was handed over: jax makes float32 of float64.
        kept = [_back(x).copy() for x in handed]
        places = len(handed) - len(plan["names"])
        named = dict(zip(plan["names"], handed[places:], strict=True)) | plan["plain"]
        named |= {name: self._kept[number] for name, number in plan.get("kept", {}).items()}
        placed = handed[:places]
        for place, number in sorted(plan.get("places", {}).items(), key=lambda each: int(each[0])):
            placed.insert(int(place), self._kept[number])
        told: dict[str, Any] = {"trouble": "", "kind": "", "printed": "", "changed": [], "shape": None, "kept": []}
        returned: list[np.ndarray] = []
        printed = io.StringIO()
        try:
            with _silenced(printed), _in_time(plan["seconds"]):
                target = getattr(self._target, plan["method"]) if plan.get("method") else self._target
                came = target(*placed, **named)
            for place in plan.get("keep", ()):
                told["kept"].append(len(self._kept))
                self._kept.append(came[place])
            returned, told["kind"], told["several"] = _read(came)
            told["shape"] = list(returned[0].shape)
        except Slow:
            told["trouble"] = f"took longer than {plan['seconds']:g} s"
        except SystemExit as error:
            told["trouble"] = f"called exit({error.code!r:.20})"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not plan["seconds"]:
                raise
            told["trouble"] = _explained(error)
        told["printed"] = _line(printed.getvalue(), 60)
        after = [_back(x) for x in handed]
        told["changed"] = [i for i, pair in enumerate(zip(kept, after, strict=True)) if not _same(*pair)]
        return told, returned


def load(folder: str, file: str, module: str, names: str) -> Any:
    """The target that a file or a module has.

    Args:
        folder: where its neighbours are imported from.
        file: of the target; empty for a module.
        module: its name.
        names: of the function, with dots inside a class.
    """
    with contextlib.suppress(ValueError):
        sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, folder)
    if file:
        spec = importlib.util.spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{os.path.basename(file)} is no Python file")
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules[module] = found
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for name in names.split("."):
        if not hasattr(found, name):
            others = [n for n, x in vars(found).items() if callable(x) and not n.startswith("_")]
            raise AttributeError(f"there is no {name} in it; there are {', '.join(others[:8]) or 'no functions'}")
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{names} is of type {type(found).__name__}, and cannot be called")
    return found


_hosts: list[Host] = []


def answer(told: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the child calls: a request as JSON, then arrays; the report as bytes, the output and the weights."""
    request = json.loads(told)
    returned: list[np.ndarray] = []
    if "plan" in request:
        report, returned = _hosts[0].call(request["plan"], arrays)
    else:
        try:
            with _silenced(io.StringIO()):
                _hosts.append(Host(load(**request["load"])))
            report = _hosts[0].about()
        except BaseException as error:
            report = {"trouble": _explained(error)}
    written = np.frombuffer(json.dumps(report).encode(), np.uint8)
    return (written, *returned, *[np.zeros(0)] * (2 - len(returned)))


def _handed(x: np.ndarray, framework: str, kind: str) -> Any:
    """An array of the target's framework."""
    if framework == "torch":
        import torch  # pyright: ignore[reportMissingImports]

        tensor = torch.from_numpy(x)
        return tensor.to(torch.bfloat16) if kind == "bfloat16" and x.dtype == np.float32 else tensor
    if framework == "jax":
        import jax.numpy as jnp

        return jnp.asarray(x, jnp.bfloat16 if kind == "bfloat16" and x.dtype == np.float32 else None)
    return x


def _back(x: Any) -> np.ndarray:
    """An array of any framework as one of numpy, in float64 where it has numbers that numpy does not know."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return x.float().numpy() if "bfloat16" in str(x.dtype) else x.numpy()
    return np.asarray(x)


def _read(came: Any) -> tuple[list[np.ndarray], str, bool]:
    """The output and, of several, the weights; the type of the first; whether there were several."""
    several = isinstance(came, tuple | list) and len(came) > 0 and hasattr(came[0], "shape")
    parts = [*came][:2] if several else [came]
    if several and not hasattr(parts[-1], "shape"):
        parts = parts[:1]
    if not hasattr(parts[0], "shape") and not np.isscalar(parts[0]) and not isinstance(parts[0], list):
        raise TypeError(f"gave a {type(came).__name__}, and no array")
    first: Any = parts[0]
    kind = str(first.dtype if hasattr(first, "dtype") else np.asarray(first).dtype).removeprefix("torch.")
    numbers = [_back(x) for x in parts]
    if numbers[0].dtype.kind not in "fiub" and "float" not in kind:
        raise TypeError(f"gave numbers of type {kind}")
    return [np.ascontiguousarray(x, np.float64) for x in numbers], kind, several


def _strided(x: np.ndarray) -> np.ndarray:
    """The same numbers, in every second place of the last axis but one of a larger array."""
    if x.ndim < 2:
        return x
    larger = np.zeros((*x.shape[:-2], 2 * x.shape[-2], x.shape[-1]), x.dtype)
    larger[..., ::2, :] = x
    return larger[..., ::2, :]


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether nothing was written: shapes and numbers, NaN included."""
    if one.shape != other.shape:
        return False
    return bool(np.array_equal(one.astype(np.float64), other.astype(np.float64), equal_nan=True))


@contextlib.contextmanager
def _silenced(into: io.StringIO) -> Iterator[None]:
    with contextlib.redirect_stdout(into), contextlib.redirect_stderr(into), np.errstate(all="ignore"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextlib.contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer; 0 is no limit."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _explained(error: BaseException) -> str:
    """An exception in one line, with the last place outside of this file."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename != __file__]
    frames = [each for each in frames if "importlib" not in each.filename]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    said = "" if isinstance(error, SystemExit) else _line(str(error), 160)
    name = f"called exit({error.code!r:.20})" if isinstance(error, SystemExit) else type(error).__name__
    return (f"{name}: {said}" if said else name) + place


def _line(text: str, most: int) -> str:
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 3] + "..."
