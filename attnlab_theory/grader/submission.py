"""Somebody's function, run in a child process: it can loop, crash or print without harm to the lab."""

import base64
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

TIME_LIMIT = 60.0
"""Seconds for everything a submission does: its imports, and every call together. The lab's work is not counted."""

CHILD = Path(__file__).with_name("child.py")


class BrokenAnswer(ValueError):
    """A submission that cannot be judged: the file, not the answer, is at fault. One line."""


class Reply(NamedTuple):
    """One returned array."""

    array: np.ndarray
    """In float64, whatever it was."""
    kind: str
    """The dtype it was returned in."""


def split(where: str) -> tuple[Path, str]:
    """The file and the function of `FILE.py::FUNCTION`.

    Raises:
        BrokenAnswer: if the form is another, or there is no such file.
    """
    name, found, function = where.rpartition("::")
    if not found or not name or not function.isidentifier():
        raise BrokenAnswer(f"expected FILE.py::FUNCTION, not '{where}'")
    path = Path(name)
    if path.is_dir():
        raise BrokenAnswer(f"{name} is a folder; name the Python file in it: {name}/FILE.py::{function}")
    if not path.is_file():
        raise BrokenAnswer(f"there is no file {name}")
    if not os.access(path, os.R_OK):
        raise BrokenAnswer(f"{name} cannot be read; check its permissions")
    return path, function


class Submission:
    """A function of a file, callable as long as the `with` block lasts.

    Args:
        where: FILE.py::FUNCTION.
        time_limit: seconds for all that the submission does in the block, loading included.
        any_framework: whether to try torch and jax arrays, too, where the file has imported one of the two.

    Raises:
        BrokenAnswer: from the constructor as `split`; from entering the block and from every call if the
            file cannot be loaded, the function is missing, raises, ends the process, returns no numbers,
            writes where only replies belong, or the time is up.
    """

    def __init__(self, where: str, *, time_limit: float = TIME_LIMIT, any_framework: bool = False) -> None:
        self.path, self.function = split(where)
        self.where, self.time_limit, self.any_framework = where, time_limit, any_framework
        self._replies: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None
        self._seconds_used = 0.0
        self._number = 0

    @property
    def seconds_left(self) -> float:
        """How much of the time limit is left: it runs while the lab waits for the submission."""
        return self.time_limit - self._seconds_used

    def __enter__(self) -> "Submission":
        self._process = subprocess.Popen(
            # -P keeps this package's folder off the child's path: a submission may import a file of its own.
            # Absolute, as Python names the file in a traceback: the child finds its lines by that name.
            [sys.executable, "-P", str(CHILD), str(self.path.absolute()), self.function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # Whatever bytes come: what is no reply is refused when it is read.
            errors="replace",
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self._receive("loading it takes", parts=0)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def __call__(self, *arguments: Any) -> np.ndarray:
        """The function at these arguments, arrays or plain numbers; in float64."""
        return self.call(*arguments)[0].array

    def call(self, *arguments: Any, parts: int = 1) -> tuple[Reply, ...]:
        """The function at these arguments, which must return `parts` arrays."""
        self._number += 1
        request = {
            "number": self._number,
            "arguments": [_encoded(np.asarray(a)) if hasattr(a, "shape") else a for a in arguments],
            "parts": parts,
            "any_framework": self.any_framework,
        }
        if self._process is None or self._process.stdin is None:
            raise RuntimeError("a submission is called inside its with block")
        # A child that has died takes no request; how it died is said where its reply would be.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        return self._receive("it takes", parts=parts)

    def _listen(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._replies.put(line)
        self._replies.put(None)

    def _receive(self, slow: str, *, parts: int) -> tuple[Reply, ...]:
        begun = time.monotonic()
        try:
            line = self._replies.get(timeout=max(self.seconds_left, 0))
        except queue.Empty:
            raise BrokenAnswer(
                f"{self.where}: {slow} longer than the time limit of {self.time_limit:g} s"
            ) from None
        finally:
            self._seconds_used += time.monotonic() - begun
        if line is None:
            raise BrokenAnswer(f"{self.where} {self._death()}")
        try:
            message = json.loads(line)
            # A reply without a number, or with that of another request, is not the child's own.
            mine = message["number"] == self._number
            arrays = tuple(_decoded(array) for array in message.get("arrays", ()))
            mine = mine and ("broken" in message or len(arrays) == parts)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            mine, message, arrays = False, {}, ()
        if not mine:
            raise BrokenAnswer(
                f"{self.where} writes into the pipe to the lab; it must leave file descriptors alone that it has "
                "not opened"
            )
        if "broken" in message:
            raise BrokenAnswer(f"{self.where} {message['broken']}")
        return arrays

    def _death(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed the pipe to the lab instead of answering"
        if code < 0:
            # Real-time signals have numbers and no names.
            names = {each.value: each.name for each in signal.Signals}
            return f"crashed: the process died of {names.get(-code, f'signal {-code}')}"
        return f"ended the process (exit status {code}) instead of answering"

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        # Not yet reaped, so the number is still its own; its session holds whatever it has started.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._listener.join(timeout=1)
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


def _encoded(array: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": array.shape, "kind": array.dtype.name, "data": data}


def _decoded(message: dict[str, Any]) -> Reply:
    flat = np.frombuffer(base64.b64decode(message["data"]), dtype=np.float64)
    return Reply(flat.reshape(message["shape"]), message["kind"])
