"""A call is silent, and ends in time. `harness` loads this file by its path."""

import contextlib
import io
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np


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
    """Interrupt what takes longer; 0 is no limit. An alarm that was set before goes on afterwards."""
    has_alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not seconds or not has_alarms:
        yield
        return

    def interrupt(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, interrupt)
    begun, (left, interval) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), 1e-3), interval)
