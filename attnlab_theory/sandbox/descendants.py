"""The processes below this one: how much memory they hold, and how they are ended. For the supervisor."""

import contextlib
import ctypes
import functools
import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

KILLING, REMOVING = 1.2, 0.6
"""Seconds to end the processes, and then to remove what they share. Together less than the judge waits."""


def holdings() -> tuple[int, int]:
    """The number of processes below this one, and the bytes of memory that they hold. Pages of files do not count.

    Memory that several share counts for each, so that none can hide there.
    """
    found = _descendants()
    unlinked: dict[tuple[int, int], int] = {}
    for process in found:
        # Files in memory that have no name, written to and never looked at.
        for descriptor in _descriptors(process):
            with contextlib.suppress(OSError):
                held = os.stat(f"/proc/{process}/fd/{descriptor}")
                if stat.S_ISREG(held.st_mode) and not held.st_nlink:
                    unlinked[held.st_dev, held.st_ino] = 512 * held.st_blocks
    return len(found), sum(map(_resident, found)) + sum(unlinked.values())


def _descriptors(process: int) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/{process}/fd")
    return []


def _resident(process: int) -> int:
    kilobytes = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                kilobytes += int(line.split()[1])
    return 1024 * kilobytes


def end(uid: int | None) -> None:
    """Kill all processes that are left below this one, and all that this user runs."""
    if os.getpid() == 1:
        # Nothing survives the end of the first process.
        return
    deadline = time.monotonic() + KILLING
    while (left := _descendants()) and time.monotonic() < deadline:
        for group in {_group_of(process) for process in left} - {0, os.getpgrp()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if uid is not None:
            _as_user(uid, _kill_all, deadline)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.002)
    if uid is not None:
        _as_user(uid, functools.partial(_remove_shared, uid), time.monotonic() + REMOVING)


def _as_user(uid: int, do: Callable[[], None], deadline: float) -> None:
    """Let a child with the rights of this user do something, and wait for it: who shares the user may stop it."""
    if not (child := os.fork()):
        try:
            os.setresuid(uid, uid, uid)
            do()
        finally:
            os._exit(0)
    while not os.waitpid(child, os.WNOHANG)[0] and time.monotonic() < deadline:
        time.sleep(0.001)


def _kill_all() -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)


def _remove_shared(uid: int) -> None:
    """Remove this user's shared memory, semaphores and queues of System V, which outlive processes."""
    libc = ctypes.CDLL(None)
    for kind, remove in {"shm": libc.shmctl, "sem": libc.semctl, "msg": libc.msgctl}.items():
        with contextlib.suppress(OSError, ValueError, LookupError):
            heading, *lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
            for line in lines:
                row = dict(zip(heading.split(), map(int, line.split()), strict=False))
                if row["uid"] == uid:
                    # Semaphores take one more argument before the command; it and the command are 0.
                    remove(row["msqid" if kind == "msg" else f"{kind}id"], 0, None)


def _group_of(process: int) -> int:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(process)
    return 0


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found, generation = [], {os.getpid()}
    while generation := {process for process, parent in parents.items() if parent in generation}:
        found += generation
    return found
