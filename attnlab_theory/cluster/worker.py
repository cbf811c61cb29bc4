"""What a worker of the cluster does: it calls functions in a process that has the settings of the caller.

A worker of Dask calls functions in threads, beside its other work. There we could set neither jax nor the number of
threads. So each worker starts a process. It ends with the worker, or when another caller comes.

`python -m attnlab_theory.cluster.worker IN OUT ALIVE` is that process. The three words are numbers of open files.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import struct
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import BinaryIO, NamedTuple

from attnlab_theory.sandbox.processes import Program

SAME = ("jax", "jaxlib", "numpy", "scipy", "equinox", "optax", "hypothesis")
"""Packages whose versions must be those of the caller."""

SIZE = struct.Struct("<q")
"""The format of a message's length, which is sent before the message."""


class Settings(NamedTuple):
    """How a process of a worker is started."""

    session: str
    """The caller that it works for."""
    environment: dict[str, str]
    """Variables that set jax, XLA and threads."""
    core: int | None
    """The core that it keeps to: its place among those that it may use. None for all of them."""


@functools.cache
def identity() -> dict[str, str]:
    """What must be the same on every worker: the source of the package, Python, and the versions of others.

    It is looked up once, because a process keeps the source with which it began.
    """
    package, source = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".toml", ".json", ".txt"} and path.is_file():
            source.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    found = {"attnlab": source.hexdigest()[:16], "python": platform.python_version()}
    for name in SAME:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def processor() -> str:
    """The name of the processor. On another one the last digits may differ."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def described() -> tuple[dict[str, str], str]:
    """The identity and the processor of this worker."""
    return identity(), processor()


class Ended(Exception):
    """The process that called a function was killed."""


class _Process:
    """A process that calls one function after another."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self._lock = settings, threading.Lock()
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        # Its end closes with this process, however that ends; nobody writes into it.
        alive, self._alive = os.pipe()
        given = (requests, answers, alive)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
        self._process = Program(
            [sys.executable, "-m", __name__, *map(str, given), "" if settings.core is None else str(settings.core)],
            # No module is looked for in the folder where the worker was started.
            env={**kept, **settings.environment, "PYTHONSAFEPATH": "1"},
            pass_fds=given,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        for number in given:
            os.close(number)

    def answer(self, request: bytes) -> bytes:
        """What the process says to a request.

        Raises:
            Ended: if it was killed.
        """
        with self._lock, os.fdopen(self._requests, "wb", closefd=False) as out:
            try:
                _send(out, request)
            except OSError:
                raise Ended from None
            with os.fdopen(self._answers, "rb", closefd=False) as found:
                answer = _received(found)
            if answer is None:
                raise Ended
            return answer

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.end()
        for number in (self._requests, self._answers, self._alive):
            with contextlib.suppress(OSError):
                os.close(number)


_running: dict[str, _Process] = {}
"""The process of this worker, by the session of its caller: one at most."""

_starting = threading.Lock()


def call(request: bytes, settings: Settings) -> bytes:
    """Call a function in a process of this worker.

    Args:
        request: the pickled function and its arguments.
        settings: of the process.

    Returns:
        A pickled pair: whether the function returned, and what it returned or raised.

    Raises:
        Ended: if the process was killed.
    """
    with _starting:
        process = _running.get(settings.session)
        if process is None or process.settings != settings:
            _end_all()
            process = _running[settings.session] = _Process(settings)
    try:
        return process.answer(request)
    except Ended:
        end(settings.session)
        raise


def end(session: str) -> None:
    """End the process of a session, if there is one."""
    process = _running.pop(session, None)
    if process is not None:
        process.end()


def _end_all() -> None:
    for session in list(_running):
        end(session)


def _send(out: BinaryIO, message: bytes) -> None:
    out.write(SIZE.pack(len(message)) + message)
    out.flush()


def _received(source: BinaryIO) -> bytes | None:
    header = source.read(SIZE.size)
    if len(header) < SIZE.size:
        return None
    (size,) = SIZE.unpack(header)
    message = source.read(size)
    return message if len(message) == size else None


def _serve(requests: int, answers: int, alive: int, core: str) -> None:
    if core and hasattr(os, "sched_setaffinity"):
        found = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {found[int(core) % len(found)]})

    for number in (requests, answers, alive):
        # A submission that is judged here must not inherit them.
        os.set_inheritable(number, False)

    def watch() -> None:
        os.read(alive, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    with os.fdopen(requests, "rb") as source, os.fdopen(answers, "wb") as out:
        while (request := _received(source)) is not None:
            _send(out, _called(request))


def _called(request: bytes) -> bytes:
    try:
        task, arguments = pickle.loads(request)
        return pickle.dumps((True, task(*arguments)))
    except Exception as error:
        error.add_note(f"On {platform.node()}:\n{traceback.format_exc()}")
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    one, two, three, kept_to = sys.argv[1:]
    # Under its own name, so that what is pickled here is known there.
    from attnlab_theory.cluster.worker import _serve as serve

    serve(int(one), int(two), int(three), kept_to)
