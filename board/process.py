"""A process of an environment's own Python, in which an adapter makes calls; and a caller for the suites."""

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import HARNESS, Back
from attnlab_theory.conform.costly import Costly
from attnlab_theory.conform.finding import Fault, Trouble, trouble_of
from attnlab_theory.sandbox.processes import Program, killed_by
from board import far

FAR = Path(__file__).with_name("far.py")

LOADING = 180.0
"""Seconds that the imports of a library may take."""

GRACE = 5.0
"""Seconds beyond its own limit after which a call is ended from outside: compiled code hears no alarm."""

THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""Entry points are judged side by side, so each has one core."""


class _Pipe:
    """The reading end, with a time by which everything must have come."""

    def __init__(self, handle: int) -> None:
        self._handle, self._left = handle, b""
        self.until = 0.0

    def _more(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._handle, selectors.EVENT_READ)
            if not waiting.select(max(self.until - time.monotonic(), 0)):
                raise TimeoutError
        if not (came := os.read(self._handle, 1 << 20)):
            raise EOFError
        self._left += came

    def readline(self) -> bytes:
        while b"\n" not in self._left:
            self._more()
        line, _, self._left = self._left.partition(b"\n")
        return line + b"\n"

    def read(self, size: int) -> bytes:
        while len(self._left) < size:
            self._more()
        came, self._left = self._left[:size], self._left[size:]
        return came


class Process:
    """An adapter in the Python of its environment. For a `with` block.

    Args:
        python: of the environment.
        adapter: the file.
        variables: of the environment of the process, beside those of this one.
    """

    def __init__(self, python: Path, adapter: Path, variables: Mapping[str, str] | None = None) -> None:
        self._python, self._adapter = python, adapter
        self._variables = os.environ | THREADS | dict(variables or {})
        self._variables.pop("PYTHONPATH", None)
        self._child: Program | None = None
        self._loaded: set[str] = set()
        self.deaths = 0
        self.costly = Costly()

    def __enter__(self) -> "Process":
        self._block = contextlib.ExitStack()
        self._folder = self._block.enter_context(tempfile.TemporaryDirectory())
        self._said = self._block.enter_context(tempfile.TemporaryFile())
        self._block.callback(self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._block.close()

    def versions(self, names: Sequence[str]) -> dict[str, Any]:
        """The versions of distributions, empty where one is not installed, and that of Python."""
        return self._ask({"versions": [*names]}, (), LOADING)[0]

    def load(self, function: str) -> dict[str, Any]:
        """Load a function of the adapter: what can be seen of it.

        Raises:
            ValueError: if it cannot be loaded, in one line.
        """
        about, _ = self._ask({"load": str(self._adapter), "function": function}, (), LOADING)
        if about["trouble"]:
            raise ValueError(f"{self._adapter.stem} cannot be loaded: {trouble_of(about)}")
        self._loaded.add(function)
        return about

    def call(self, function: str, plan: dict[str, Any], arrays: Sequence[np.ndarray], seconds: float) -> Back:
        """Make one call; what ends the process is a trouble like any other, and the next call gets a new one."""
        if refusal := self.costly.refusal(plan, arrays):
            return Back({"trouble": refusal}, [])
        if function not in self._loaded or self._child is None:
            try:
                self.load(function)
            except ValueError as error:
                self.deaths += 1
                self.costly.cost(plan, arrays)
                return Back({"trouble": str(error)}, [])
        before = self.deaths
        report, came = self._ask(
            {"function": function, "plan": plan | {"seconds": seconds}}, arrays, seconds + GRACE
        )
        trouble = trouble_of(report)
        if trouble is not None and trouble.loses_device:
            self._stop()
            self.deaths += 1
        costs = self.deaths > before or report["trouble"] == Fault.HUNG
        (self.costly.cost if costs else self.costly.answered)(plan, arrays)
        return Back(report, came)

    def _ask(
        self, message: dict[str, Any], arrays: Sequence[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        if self._child is None:
            self._start()
        assert self._child is not None
        assert self._child.stdin is not None
        self._pipe.until = time.monotonic() + seconds
        try:
            far.send(self._child.stdin, message, arrays)  # pyright: ignore[reportArgumentType]
            return far.receive(self._pipe)  # pyright: ignore[reportArgumentType]
        except TimeoutError:
            report = {"trouble": Fault.HUNG, "about": {"seconds": seconds}}
        except (EOFError, BrokenPipeError):
            report = self._why()
        self._stop()
        self.deaths += 1
        return report, []

    def _why(self) -> dict[str, Any]:
        assert self._child is not None
        self._child.has_ended(GRACE)
        code = self._child.code
        if killed := killed_by(code):
            return {"trouble": Trouble(fault=Fault.KILLED, code=killed), "killed": killed}
        number = -code if code is not None and code < 0 else 0
        said = f"by {signal.Signals(number).name}" if number else f"({code})"
        return {"trouble": f"ended the process {said}"}

    def _start(self) -> None:
        self._loaded.clear()
        self._child = Program(
            [self._python, "-I", FAR, HARNESS, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=self._folder,
            env=self._variables,
        )
        assert self._child.stdout is not None
        self._pipe = _Pipe(self._child.stdout.fileno())

    def _stop(self) -> None:
        if self._child is None:
            return
        self._child.end()
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
        self._child = None


class Peer:
    """A caller of one function of an adapter.

    Args:
        process: of the adapter.
        function: in it.
        name: of the entry point.
        seconds: how long one call may take.
    """

    def __init__(self, process: Process, function: str, name: str, *, seconds: float = 30.0) -> None:
        self._process, self._function, self.name, self._seconds = process, function, name, seconds
        self._about = process.load(function)

    def about(self) -> dict[str, Any]:
        """Parameters and frameworks."""
        return self._about

    def call(self, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        """Make one call."""
        return self._process.call(self._function, plan, arrays, self._seconds)
