"""The functions of somebody's homework, in a process of their own: they end by our clock, and end nothing else.

There are no fences around them, for their author grades. The process is started once, and again after it was ended.
It imports numpy, and what the homework imports. A request and a reply are a line each (`sandbox/exchange.py`).
"""

import atexit
import base64
import dataclasses
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.sandbox.child import leave_with_parent
from attnlab_theory.sandbox.exchange import LONGEST_REPLY, MOST_OUTPUT, Ended, Exchange, Flooded, Late, pipes_of
from attnlab_theory.sandbox.processes import Program

LOADING = 60.0
"""Seconds for the file itself, which may import a framework."""

ENDING = 2.0
"""Seconds after which a process has ended that has closed its pipe."""


class Failed(Exception):
    """A function raises, does not end in time, or ends its process. The message says so, and follows its name."""

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class Function(NamedTuple):
    """What is known of something in the file that can be called."""

    parameters: tuple[str, ...]
    about: str
    """The first line of its docstring; empty without one."""
    is_function: bool
    """Whether it is a function of Python, and no class or object."""


class Numbers(NamedTuple):
    """An argument that arrives as a numpy generator."""

    seed: int
    size: int
    short: bool


class Asking(NamedTuple):
    """An argument that arrives as the submitted function, with these parameters."""

    parameters: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Other:
    """What came back as something that is no number, text, array, list or table."""

    kind: str


class Short(np.random.Generator):
    """Normal and uniform numbers of one decimal, never 0: a person can compute with them."""

    def normal(self, *arguments: Any, **named: Any) -> Any:
        """As numpy's, rounded."""
        return _short(super().normal(*arguments, **named))

    def standard_normal(self, *arguments: Any, **named: Any) -> Any:
        """As numpy's, rounded."""
        return _short(super().standard_normal(*arguments, **named))

    def uniform(self, *arguments: Any, **named: Any) -> Any:
        """As numpy's, rounded."""
        return _short(super().uniform(*arguments, **named))

    def random(self, *arguments: Any, **named: Any) -> Any:
        """As numpy's, rounded."""
        return _short(super().random(*arguments, **named))


def _short(drawn: Any) -> Any:
    return np.copysign(np.maximum(np.round(np.abs(drawn), 1), 0.1), drawn)


class Functions:
    """What a homework's file defines.

    Args:
        path: of the file, by which it is called.
        code: its text.

    Raises:
        Failed: if it cannot be loaded.
    """

    def __init__(self, path: str, code: str) -> None:
        self._file = path, code
        self.known: Mapping[str, Function] = _process().load(self._file)

    def call(
        self,
        name: str,
        seconds: float,
        *arguments: Any,
        answered: Callable[..., Any] = lambda: None,
        **named: Any,
    ) -> Any:
        """What a function returns: numbers, texts, arrays, and lists and tables of them.

        Args:
            name: of the function.
            seconds: that it may take. While it waits for what `Asking` asks, its clock stands still.
            arguments: plain values, or `Numbers`.
            answered: what answers for `Asking`, by the names of its parameters.
            named: further arguments.

        Raises:
            Failed: if there is nothing that it returns.
        """
        process = _process()
        if self._file not in process.loaded:
            process.load(self._file)
        return process.ask(("call", self._file, name, arguments, named), seconds, answered)


class _Process:
    """The process, from outside."""

    def __init__(self) -> None:
        # Nothing is written beside a homework, whatever its file imports from there.
        program = f"import sys; sys.path[:] = {sys.path!r}; sys.dont_write_bytecode = True; "
        program += f"from {__name__} import serve; serve()"
        self.program = Program(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            group=True,
        )
        self._exchange = Exchange(pipes_of(self.program))
        self.loaded: dict[tuple[str, str], Mapping[str, Function]] = {}
        self._shown_at_most = 0

    def load(self, file: tuple[str, str]) -> Mapping[str, Function]:
        """What a file defines."""
        if file not in self.loaded:
            self._shown_at_most = MOST_OUTPUT
            self.loaded[file] = self.ask(("load", file), LOADING)
        return self.loaded[file]

    def ask(self, request: tuple[Any, ...], seconds: float, f: Callable[..., Any] = lambda: None) -> Any:
        """What it answers to a request. It is ended if it does not answer, or if `f` raises."""
        limit = seconds
        try:
            while True:
                begun = time.monotonic()
                line = self._exchange.ask(_line(request), max(seconds, 0), lambda: self.program.code is not None)
                seconds -= time.monotonic() - begun
                self._show()
                kind, value = pickle.loads(base64.b64decode(line))
                if kind != "asks":
                    break
                request = ("answer", f(**value))
        except BaseException as error:
            self._show()
            code = self.program.code if not isinstance(error, Ended) or self.program.has_ended(ENDING) else None
            self.end()
            if isinstance(error, Late):
                raise Failed(f"does not end within {limit:g} s", is_late=True) from None
            if isinstance(error, Flooded):
                raise Failed(f"returns more than {LONGEST_REPLY >> 20} MB") from None
            if isinstance(error, Ended):
                how = signal.Signals(-code).name if code and code < 0 else f"exit code {code}"
                raise Failed(f"ends its process ({how})") from None
            raise
        if kind == "raised":
            raise Failed(f"raises {value}")
        return value

    def _show(self) -> None:
        """Print to the screen of errors what was printed there, as far as anybody reads it."""
        printed = self._exchange.taken()[: self._shown_at_most]
        self._shown_at_most -= len(printed)
        sys.stderr.write(printed)

    def end(self) -> None:
        """End it, and all that it has started."""
        global _running
        if _running is self:
            _running = None
            self.program.end()
            self._exchange.close()


_running: _Process | None = None


def _process() -> _Process:
    global _running
    if _running is not None and _running.program.code is not None:
        _running.end()
    if _running is None:
        _running = _Process()
    return _running


@atexit.register
def _end() -> None:
    if _running is not None:
        _running.end()


def _line(message: Any) -> bytes:
    return base64.b64encode(pickle.dumps(message)) + b"\n"


def serve() -> None:
    """Answer requests, in the process itself, until nobody is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    modules: dict[tuple[str, str], ModuleType] = {}

    def tell(kind: str, value: Any) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        replies.write(_line((kind, value)))
        replies.flush()

    def answered() -> Any:
        """Do what is asked, until an answer comes to what `f` has asked."""
        while line := requests.readline():
            kind, *about = pickle.loads(base64.b64decode(line))
            if kind == "answer":
                return about[0]
            try:
                with np.errstate(all="ignore"):
                    done = loaded(*about) if kind == "load" else _plain(called(*about))
            except BaseException as error:
                tell("raised", _told(error, about[0][0]))
            else:
                tell("done", done)
        os._exit(0)

    def loaded(file: tuple[str, str]) -> dict[str, Function]:
        modules[file] = _module(*file)
        return {name: _known(value) for name, value in vars(modules[file]).items() if callable(value)}

    def called(file: tuple[str, str], name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        def made(value: Any) -> Any:
            if isinstance(value, Numbers):
                bits = np.random.PCG64([value.seed, value.size])
                return Short(bits) if value.short else np.random.Generator(bits)
            return asker(value.parameters) if isinstance(value, Asking) else value

        given = {key: made(value) for key, value in named.items()}
        return getattr(modules[file], name)(*map(made, arguments), **given)

    def asker(parameters: tuple[str, ...]) -> Callable[..., Any]:
        def f(*arguments: Any, **named: Any) -> Any:
            by_name = dict(zip(parameters, arguments, strict=False)) | named
            if set(by_name) != set(parameters) or len(arguments) > len(parameters):
                raise TypeError(f"f takes {', '.join(parameters)}")
            tell("asks", _plain(by_name))
            return answered()

        return f

    answered()


def _known(value: Any) -> Function:
    try:
        parameters = tuple(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        parameters = ()
    about = (inspect.getdoc(value) or "").strip().splitlines()
    return Function(parameters, about[0] if about else "", inspect.isfunction(value))


def _plain(value: Any) -> Any:
    """The same value, of types that every process knows."""
    if isinstance(value, np.generic):
        value = value.item()
    kinds: tuple[Any, ...] = (bool, int, float, complex, str)
    for kind in kinds:
        if isinstance(value, kind):
            return kind(value)
    if hasattr(value, "shape"):
        array = np.asarray(value)
        return array if array.dtype.kind in "biufcU" else Other(type(value).__name__)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value] if isinstance(value, list) else tuple(map(_plain, value))
    return value if value is None else Other(type(value).__name__)


def _module(path: str, code: str) -> ModuleType:
    """The file. Files in its folder can be imported while it is loaded."""
    module = ModuleType("attnlab_homework")
    module.__file__ = path
    folder = str(Path(path).parent.resolve())
    sys.path.insert(0, folder)
    try:
        exec(compile(code, path, "exec"), vars(module))
    finally:
        if folder in sys.path:  # the file may have taken it away
            sys.path.remove(folder)
    return module


def _told(error: BaseException, path: str) -> str:
    """The error in one line, with the last line of the homework's file that led to it."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({Path(path).name}, line {error.lineno})"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    first = next(iter(str(error).strip().splitlines()), "")
    where = f" ({Path(path).name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}{': ' * bool(first)}{first}{where}"
