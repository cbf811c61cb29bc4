"""A call is silent, and ends in time. `conform/harness.py` loads this file by its path."""

import contextlib
import io
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np

LEAST = 0.05
"""The share of its time by which a call goes on longer, or not at all."""


class Slow(BaseException):
    """A call takes too long. Not an Exception, for a target may catch those."""


@contextlib.contextmanager
def silenced(into: io.StringIO) -> Iterator[None]:
    """Catch what is printed, and pass over warnings."""
    with contextlib.redirect_stdout(into), contextlib.redirect_stderr(into), np.errstate(all="ignore"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextlib.contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer; 0 is no limit. An alarm that was set before goes on afterwards.

    Time does not count in which it could run and got no processor: other programs shall change no verdict.
    """
    has_alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not seconds or not has_alarms:
        yield
        return

    granted = _starved()

    def interrupt(*_: object) -> None:
        nonlocal granted
        now = _starved()
        longer = max((x - granted.get(thread, 0.0) for thread, x in now.items()), default=0.0)
        if longer < LEAST * seconds:
            raise Slow
        granted = now
        signal.setitimer(signal.ITIMER_REAL, longer)

    before = signal.signal(signal.SIGALRM, interrupt)
    begun, (left, interval) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), 1e-3), interval)


def _starved() -> dict[str, float]:
    """How long each thread has waited for a processor, in seconds. Only Linux tells: proc_pid_schedstat(5)."""
    found: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/schedstat") as file:
                found[thread] = int(file.read().split()[1]) / 1e9
    return found
