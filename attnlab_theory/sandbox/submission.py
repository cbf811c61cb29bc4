"""Somebody's function, run inside fences: it can loop, crash, print or attack without harm to the judge."""

import base64
import contextlib
import json
import math
import os
import re
import signal
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.exits import visible
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.enclosure import Enclosure, Terms
from attnlab_theory.sandbox.exchange import Ended, Flooded, Late
from attnlab_theory.sandbox.processes import killed_by
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason, plain

TIME_LIMIT = 60.0
"""Seconds of processor time for everything a submission does: its imports, and every call together."""

ITS_OWN = (Reason.RAISED, Reason.WRONG_SHAPE, Reason.TOO_MUCH_MEMORY, Reason.ENDED)
"""The reasons that the process of a submission may report. Only the judge may give the others, such as `right`."""

WHILE_LOADED = (*ITS_OWN, None, Reason.INCONCLUSIVE)
"""Those that it may report while it is loaded: there may be no such function, or a module may be missing here."""


def patience(time_limit: float) -> float:
    """The longest wait, in seconds, for this much processor time: others may use the machine too."""
    return 4 * time_limit + 10


class Reply(NamedTuple):
    """One returned array."""

    array: np.ndarray
    """The array in float64."""
    kind: str
    """The dtype it was returned in."""


def of_call(where: str) -> str:
    """What to do instead of naming a call, such as FILE.py::GPT(config); empty if it is none."""
    called = re.fullmatch(r"(.+?)::(\w+)\((.*)\)", where, re.DOTALL)
    if not called:
        return ""
    file, name, given = called.groups()
    remedy = (
        f"write model = {name}({given}) into {file}, and name {file}::model" if given else f"name {file}::{name}"
    )
    return plain(f"expected FILE.py::FUNCTION, and {where} is a call: {remedy}")


def split(where: str) -> tuple[Path, str]:
    """The file and the function of `FILE.py::FUNCTION`.

    Raises:
        BrokenAnswer: if the form is another, or there is no such file.
    """
    name, found, function = where.rpartition("::")
    if remedy := of_call(where):
        raise BrokenAnswer(remedy)
    if not found or not name or not function.isidentifier():
        raise BrokenAnswer(f"expected FILE.py::FUNCTION, not '{plain(where)}'")
    path = Path(name)
    if path.is_dir():
        raise BrokenAnswer(f"{name} is a folder; name the Python file in it: {name}/FILE.py::{function}")
    if not path.is_file():
        raise BrokenAnswer(f"there is no file {name}")
    if path.suffix.lower() not in (".py", ".ipynb"):
        raise BrokenAnswer(f"{name} is not a Python file: its name must end in .py, or in .ipynb for a notebook")
    if not os.access(path, os.R_OK):
        raise BrokenAnswer(f"{name} cannot be read; check its permissions")
    return path, function


class Submission:
    """A function of a file, callable in a `with` block.

    The clocks run while the judge waits for the submission, and not while the judge works.

    Args:
        where: FILE.py::FUNCTION.
        time_limit: seconds of processor time for loading the file and all calls together.
        wall_limit: seconds that the judge waits in all. By default four times `time_limit`, plus ten.
        memory: bytes that its processes may hold together.
        any_framework: whether to try torch and jax arrays too, if the file imports torch or jax.
        alone: whether it sees its own file alone, and no other of its folder.
        names: other names of the function, tried in this order if the file does not define FUNCTION.
        instances: whether a class may be named. Then an instance, made without arguments, is called.
        sees: a folder that it may read, in place of its own folder.
        searched: whether it sees every folder in which this Python searches for modules. If not, it sees what is
            installed, and not this package, which has the reference solutions.
        means: the means that may be used for fences. A test uses fewer.

    Raises:
        BrokenAnswer: from the constructor, if there is no such file, or `where` has another form. On entering the
            block and from a call, if the file cannot be loaded or has no such function. From a call, if the
            function raises, ends the process, returns no numbers or writes into the replies, or if the time is up.
    """

    def __init__(
        self,
        where: str,
        *,
        time_limit: float = TIME_LIMIT,
        wall_limit: float | None = None,
        memory: int = fences.MEMORY,
        any_framework: bool = False,
        alone: bool = False,
        names: Sequence[str] = (),
        instances: bool = False,
        sees: Path | None = None,
        searched: bool = False,
        means: frozenset[str] | None = None,
    ) -> None:
        self.path, self.function = split(where)
        self._names, self._instances = [self.function, *names], instances
        self.mode = ""
        """`training` or `evaluation` if it is a module of torch, by its own words. From then on it evaluates."""
        self.channels_first = False
        """Whether it is a module of torch that reads [batch, channels, time], by its own words."""
        self.left_out = ""
        """The lines of a notebook that were not run, by its own words. Known inside the block."""
        self._optional: tuple[str, ...] = ()
        """Its parameters in order, by its own words: an empty name where one must be given."""
        self.where = visible(where, lines=False)
        """What it is called, for people."""
        self.time_limit, self.any_framework = time_limit, any_framework
        self.wall_limit = patience(time_limit) if wall_limit is None else wall_limit
        self._enclosure = Enclosure(
            self.path if sees is None else sees,
            Terms(
                seconds=time_limit,
                memory=memory,
                alone=alone,
                searched=searched,
                means=fences.MEANS if means is None else means,
            ),
        )
        self._memory = memory
        self._waited = self._used = 0.0
        self._number = -1
        self._sent: deque[tuple[int, int]] = deque()
        self._block = contextlib.ExitStack()
        self._is_loaded = False

    def never_passed(self, given: int) -> tuple[str, ...]:
        """The parameters that need not be given, and that no call passes. Known inside the block.

        Args:
            given: how many arguments a call has.
        """
        return tuple(filter(None, self._optional[given:]))

    @property
    def missing(self) -> tuple[fences.Fence, ...]:
        """The fences that could not be put up. Known inside the block."""
        return self._enclosure.missing

    @property
    def waited(self) -> float:
        """The seconds that the judge has waited for it."""
        return self._waited

    @property
    def left(self) -> float:
        """The share of its time that is left, by the clock on which less is left."""
        return 1 - max(self._used / self.time_limit, self._waited / self.wall_limit)

    @property
    def output(self) -> str:
        """What it has printed so far, at most its first 64 KB."""
        exchange = self._enclosure.exchange
        return exchange.printed + (f"\n(and {exchange.dropped:,} bytes more)" if exchange.dropped else "")

    def __enter__(self) -> "Submission":
        with contextlib.ExitStack() as block:
            block.enter_context(self._enclosure)
            asked = {"path": str(self.path.absolute()), "names": self._names, "instances": self._instances}
            self._send(asked, parts=0)
            self._receive("loading it takes")
            self._block = block.pop_all()
        self._is_loaded = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._block.close()

    def __call__(self, *arguments: Any) -> np.ndarray:
        """The function's result, in float64. Arguments are arrays or plain numbers."""
        return self.call(*arguments)[0].array

    def call(self, *arguments: Any, parts: int = 1, leading: Sequence[int] | None = None) -> tuple[Reply, ...]:
        """The function at these arguments, which must return `parts` arrays."""
        self.send(*arguments, parts=parts, leading=leading)
        return self.receive()

    def send(self, *arguments: Any, parts: int = 1, leading: Sequence[int] | None = None) -> None:
        """Send a call without waiting for the reply. So the two processes need not wait for each other.

        Args:
            arguments: of the function.
            parts: how many arrays it must return.
            leading: for a model, the lengths of the axes of its outputs before the last. It may then also return a
                loss of None, or a dictionary in which one array has these axes. If None, it must return `parts`
                arrays and no more.
        """
        if not self._is_loaded:
            raise RuntimeError("a submission is called inside its with block")
        request = {
            "arguments": [_encoded(np.asarray(a)) if hasattr(a, "shape") else a for a in arguments],
            "parts": parts,
            "any_framework": self.any_framework,
            "leading": None if leading is None else [*leading],
        }
        self._send(request, parts)

    def receive(self) -> tuple[Reply, ...]:
        """The reply to the oldest call that has been sent and not yet received."""
        return self._receive("it takes")

    def _send(self, request: dict[str, Any], parts: int) -> None:
        self._number += 1
        self._enclosure.exchange.send(json.dumps({"number": self._number, **request}).encode() + b"\n")
        self._sent.append((self._number, parts))

    def _receive(self, slow: str) -> tuple[Reply, ...]:
        number, parts = self._sent.popleft()
        begun = time.monotonic()
        try:
            reply = self._enclosure.exchange.ask(
                b"", max(self.wall_limit - self._waited, 0), self._enclosure.exceeds_memory
            )
        except Late:
            raise self._broken(
                f": {slow} longer than {self.wall_limit:g} s, which is four times the time limit of "
                f"{self.time_limit:g} s plus ten seconds",
                Reason.TIMED_OUT,
            ) from None
        except Flooded:
            raise self._broken(" sends a reply without end; no answer is that long", Reason.ENDED) from None
        except Ended:
            raise self._death(slow) from None
        finally:
            self._waited += time.monotonic() - begun
        return self._read(reply, number, parts)

    def _read(self, line: bytes, number: int, parts: int) -> tuple[Reply, ...]:
        try:
            message = json.loads(line)
            # A reply without a number, or with that of another request, is not the child's own.
            mine = message["number"] == number
            arrays = tuple(_decoded(array) for array in message.get("arrays", ()))
            mine = mine and ("broken" in message or len(arrays) == parts)
            used = float(message["seconds"])
            # The kernel counts besides, and ends what uses more than it may.
            mine = mine and 0 <= used <= math.ceil(self.time_limit) + 1 + (os.cpu_count() or 1) * self._waited
            reason = Reason(message["reason"]) if message.get("reason") else None
            mine = mine and ("broken" not in message or reason in (ITS_OWN if self._is_loaded else WHILE_LOADED))
            named = message.get("function", self.function)
            mine = mine and named in self._names
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError):
            mine, message, arrays, used, reason, named = False, {}, (), 0.0, None, self.function
        if not mine:
            raise self._broken(
                " writes into the pipe to the lab; it must leave alone files that it has not opened",
                Reason.ENDED,
            )
        self._used = max(self._used, used)
        self.mode = message["mode"] if message.get("mode") in ("training", "evaluation") else ""
        self.channels_first = message.get("channels first") is True
        optional = message.get("optional")
        self._optional = tuple(plain(str(name)) for name in optional) if isinstance(optional, list) else ()
        self.left_out = plain(str(message.get("left_out", "")))
        if named != self.function:
            self.function, self.where = named, visible(f"{self.path}::{named}", lines=False)
        if "broken" in message:
            raise self._broken(f" {plain(str(message['broken']))}", reason, lacks=message.get("lacks") is True)
        return arrays

    def _broken(self, said: str, reason: Reason | None, code: int = 0, *, lacks: bool = False) -> BrokenAnswer:
        return BrokenAnswer(f"{self.where}{said}", reason, self.output, killed_by(code), lacks=lacks)

    def _death(self, slow: str) -> BrokenAnswer:
        """Why there will be no reply: by the supervisor, or by the end of the process that was started."""
        # The kernel may have ended a child of the submission, and left it to wait for that child.
        status = {"memory": 0} if self._enclosure.exceeds_memory() else self._enclosure.ending()
        if "memory" in status or self._enclosure.exceeds_memory():
            return self._broken(
                f" needs more memory than the {self._memory / 2**30:g} GB that it may have", Reason.TOO_MUCH_MEMORY
            )
        if "processes" in status:
            return self._broken(f" starts more than {fences.most_processes()} processes", Reason.ENDED)
        if "code" not in status:
            killed = -status.get("killed", 0)
            return self._broken(" closed the pipe to the lab instead of answering", Reason.ENDED, killed)
        code = status["code"]
        # A submission may have taken the kernel's first word for it, and gets the second: SIGKILL.
        over = code == -signal.SIGKILL and status.get("seconds", 0) >= math.ceil(self.time_limit)
        if code == -signal.SIGXCPU or over:
            return self._broken(
                f": {slow} longer than the time limit of {self.time_limit:g} s of processor time", Reason.TIMED_OUT
            )
        if code < 0:
            # Real-time signals have numbers and no names.
            names = {each.value: each.name for each in signal.Signals}
            name = names.get(-code, f"signal {-code}")
            return self._broken(f" crashed: the process died of {name}", Reason.ENDED, code)
        return self._broken(f" ended the process (exit status {code}) instead of answering", Reason.ENDED)


def _encoded(array: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": array.shape, "kind": array.dtype.name, "data": data}


def _decoded(message: dict[str, Any]) -> Reply:
    flat = np.frombuffer(base64.b64decode(message["data"]), dtype=np.float64)
    return Reply(flat.reshape(message["shape"]), message["kind"])
