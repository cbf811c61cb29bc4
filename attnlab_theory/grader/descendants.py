"""The processes below this one: what they hold, and how they are ended. For the supervisor of a submission."""

import contextlib
import os
import signal
import time
from pathlib import Path


def holdings() -> tuple[int, int]:
    """How many processes there are below this one, and how many bytes they hold that no file holds."""
    pages = 0
    found = _descendants()
    for process in found:
        with contextlib.suppress(OSError, ValueError):
            resident, shared = Path(f"/proc/{process}/statm").read_text().split()[1:3]
            pages += int(resident) - int(shared)
    return len(found), pages * os.sysconf("SC_PAGE_SIZE")


def end(uid: int | None) -> None:
    """Kill all that is left below this process, and all that this user runs."""
    if os.getpid() == 1:
        # Nothing survives the end of the first process.
        return
    deadline = time.monotonic() + 5
    while (left := _descendants()) and time.monotonic() < deadline:
        for group in {_group_of(process) for process in left} - {0, os.getpgrp()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if uid is not None and not os.fork():
            os.setresuid(uid, uid, uid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
            os._exit(0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.002)


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
