"""The place where a submission runs: fences, a child inside them, and an end of everything that it has started."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from attnlab_theory import files
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.control_group import ControlGroup
from attnlab_theory.sandbox.exchange import Ended, Exchange, Flooded, Late, pipes_of
from attnlab_theory.sandbox.processes import Program

LAUNCHER = Path(__file__).with_name("launcher.py")

START = 60.0
"""Seconds until the fences must stand. No code of the submission runs before."""

ENDING = 2.0
"""Seconds that a process has to end after it was told to, or has closed its pipe."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Terms:
    """The limits of a submission."""

    seconds: float
    """Processor time, in seconds."""
    memory: int
    """Bytes that its processes may hold together."""
    alone: bool
    """Whether it sees its own file alone, and no other of its folder."""
    searched: bool = False
    """Whether it sees every folder in which this Python searches for modules, as `fences.view` has it."""
    means: frozenset[str]
    """The means that may be tried for fences."""


class Enclosure:
    """A child that waits for a file to load, inside as many fences as the system allows. Use it in a `with` block.

    Raises:
        ValueError: on entering the block, if the user inside the fences cannot read the file, or Python's own. Also
            if the file is a link that leads out of view, or if the fence `files` stands on this system and not
            around this file.
        RuntimeError: on entering the block, if the launcher itself fails.
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self._path, self._terms = path, terms
        self._block = contextlib.ExitStack()
        self.missing: tuple[fences.Fence, ...] = fences.FENCES
        """The fences that do not stand; known inside the block."""
        self._bubblewrap_said = ""

    def __enter__(self) -> "Enclosure":
        hello = self._started(bubblewrap=True) or self._started(bubblewrap=False)
        if not hello:
            raise RuntimeError(f"the launcher of submissions failed: {self.exchange.printed}")
        if "unreadable" in hello:
            # Nobody's fault but the system's, so that it is no word on the submission.
            self._block.close()
            raise ValueError(self._unreadable(hello["unreadable"], hello["errno"]))
        in_force = set(hello.get("in_force", ()))
        why = hello.get("unviewable", "")
        if "view" not in in_force and self._bubblewrap_said and fences.bubblewrap_works():
            why = why or self._bubblewrap_said
        if why:
            self._block.close()
            raise ValueError(
                f"the fence 'files' cannot be put up around {self._path}: {why}; move it into a folder of its own"
            )
        if not fences.JUDGE.stands(in_force) and "undumpable" in self._terms.means and fences.become_undumpable():
            in_force.add("undumpable")
        self.missing = fences.missing(in_force)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._block.close()

    def _unreadable(self, place: str, number: int) -> str:
        """Why a place cannot be read inside the fences, and what to do about it."""
        if number == errno.ENOENT and place == str(self._path.absolute()) and self._path.is_symlink():
            target = os.path.realpath(self._path)
            return (
                f"{self._path} is a link to {target}, where no submission can look: put the file itself there, or "
                f"name {target}"
            )
        return (
            f"the submission runs as another user, who cannot read {place}: {os.strerror(number)}; put it, and "
            "Python, where everybody may read, or judge as a user who is not root"
        )

    def exceeds_memory(self) -> bool:
        """Whether the kernel has ended a process of the submission for its memory."""
        return self._group is not None and self._group.exceeded

    def ending(self) -> dict[str, Any]:
        """How the submission ended, by its supervisor: its exit code, or the limit that it broke.

        `killed` is the signal that ended the supervisor. Empty if the submission has not ended.
        """
        ended = self._process.has_ended(ENDING)
        if sys.platform != "linux":
            # There is no supervisor: it is the process itself.
            return {"code": self._process.code} if ended else {}
        os.set_blocking(self._status.fileno(), False)
        if line := self._status.readline():
            return json.loads(line)
        code = self._process.code
        return {"killed": -code} if code is not None and code < 0 else {}

    def _started(self, *, bubblewrap: bool) -> dict[str, Any]:
        """Start the launcher, and read from it which means are in force. Empty if it fails."""
        with contextlib.ExitStack() as block:
            scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="attnlab-")))
            block.callback(files.remove_folder, scratch)
            self._group = None
            if "group" in self._terms.means:
                self._group = ControlGroup(self._terms.memory, fences.most_processes())
                block.callback(self._group.remove)
            status, told = os.pipe()
            self._status = block.enter_context(os.fdopen(status, "rb"))
            plan = fences.plan(
                self._path,
                scratch,
                seconds=math.ceil(self._terms.seconds),
                memory=self._terms.memory,
                means=self._terms.means,
                groups=[] if self._group is None else self._group.entrances,
                status=told,
                alone=self._terms.alone,
                searched=self._terms.searched,
            )
            command, plan = (bubblewrap and fences.bubblewrap(plan)) or ([], plan)
            try:
                self._process = _launched(command, plan, scratch, told)
            except OSError as error:
                if error.errno != errno.E2BIG:
                    raise
                many = f"{self._path.parent} holds {len(plan['hidden']):,} names that begin with a dot"
                raise ValueError(
                    f"{many}, too many to hide: put {self._path.name} into a folder of its own"
                ) from None
            finally:
                os.close(told)
            self.exchange = Exchange(pipes_of(self._process))
            block.callback(self.exchange.close)
            # First by its supervisor, then what is left of its group.
            block.callback(self._process.end, told=ENDING)
            with contextlib.suppress(Late, Flooded, Ended, ValueError):
                hello = json.loads(self.exchange.ask(b"", START))
                self._block = block.pop_all()
                return hello
            # What is installed may be forbidden; what the launcher says of it stays readable.
            self.exchange.drain(0.2)
            self._bubblewrap_said = self.exchange.printed.strip() if command else self._bubblewrap_said
        return {}


def _launched(command: list[str], plan: dict[str, Any], scratch: Path, status: int) -> Program:
    # -P keeps the folder of this package off the path of the submission, which
    # may import a file of its own.
    return Program(
        [*command, sys.executable, "-P", str(LAUNCHER), json.dumps(plan)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        group=True,
        pass_fds=(status,),
        env=fences.environment(scratch),
        cwd=scratch,
    )
