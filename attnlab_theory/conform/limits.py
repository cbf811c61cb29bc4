"""A call is silent, and ends in time. `harness` loads this file by its path."""

import contextlib
import io
import signal
import threading
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
    """Interrupt what takes longer; 0 is no limit."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
