"""A control group of Linux: the kernel counts the memory of all processes of a submission together."""

import contextlib
import os
import signal
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")

NOTICING = 5.0
"""Seconds until the kernel has noticed that a group is empty, at the latest."""


class ControlGroup:
    """A group for one submission, made below the group of this process or beside it.

    Args:
        memory: bytes that all of its processes may hold.
        processes: how many processes and threads there may be.
    """

    def __init__(self, memory: int, processes: int) -> None:
        self._folders: list[Path] = []
        self._events: Path | None = None
        with contextlib.suppress(OSError):
            self._make(memory, processes)
            return
        self.remove()

    @property
    def entrances(self) -> list[str]:
        """The files into which a process writes 0 to enter the group. None if no group can be made."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    @property
    def exceeded(self) -> bool:
        """Whether the kernel has ended a process of the group for its memory."""
        if self._events is None:
            return False
        with contextlib.suppress(OSError):
            counts = dict(line.split() for line in self._events.read_text().splitlines())
            return int(counts.get("oom_kill", 0)) > 0
        return False

    def remove(self) -> None:
        """End what still runs in the group, wherever it has gone, and remove the group."""
        deadline = time.monotonic() + NOTICING
        for folder in self._folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    # As a rule all have ended, and the kernel only needs a moment to notice.
                    with contextlib.suppress(OSError):
                        for process in (folder / "cgroup.procs").read_text().split():
                            os.kill(int(process), signal.SIGKILL)
                    time.sleep(0.005)
        self._folders = []

    def _make(self, memory: int, processes: int) -> None:
        name = f"attnlab-{os.getpid()}-{time.monotonic_ns()}"
        own = [line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines()]
        version_1 = {controller: path for controllers, path in own for controller in controllers.split(",") if path}
        if "memory" in version_1:
            for controller, limits in (
                ("memory", {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}),
                ("pids", {"pids.max": processes}),
            ):
                if controller in version_1:
                    folder = ROOT / controller / version_1[controller].lstrip("/") / name
                    self._add(folder, limits, optional=("memory.memsw.limit_in_bytes",))
            self._events = self._folders[0] / "memory.oom_control"
            return
        # Version 2 lets no group with processes have groups that are limited: this one stands beside ours.
        beside = ROOT / version_1[""].lstrip("/")
        beside = beside.parent if beside != ROOT else beside
        if not {"memory", "pids"} <= set((beside / "cgroup.subtree_control").read_text().split()):
            raise OSError("the group above does not limit the groups below")
        limits = {"memory.max": memory, "memory.swap.max": 0, "pids.max": processes}
        self._add(beside / name, limits, optional=("memory.swap.max",))
        self._events = self._folders[0] / "memory.events"

    def _add(self, folder: Path, limits: dict[str, int], optional: tuple[str, ...]) -> None:
        _remove_abandoned(folder.parent)
        folder.mkdir()
        self._folders.append(folder)
        for limit, number in limits.items():
            with contextlib.suppress(*([OSError] if limit in optional else [])):
                (folder / limit).write_text(str(number))


def _remove_abandoned(folder: Path) -> None:
    """Remove the groups of killed judges. The kernel keeps those in which a process runs."""
    for left in folder.glob("attnlab-*-*"):
        with contextlib.suppress(OSError, ValueError):
            if not _runs(int(left.name.split("-")[1])):
                _remove_empty(left)


def _runs(process: int) -> bool:
    """Whether a process has not ended. One that has ended keeps its number until its parent asks about it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in ("Z", "X")
    return False


def _remove_empty(folder: Path) -> None:
    """Remove a group in which nothing runs. The kernel may need a moment to notice that all have ended."""
    deadline = time.monotonic() + NOTICING
    while not (folder / "cgroup.procs").read_text():
        try:
            folder.rmdir()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
