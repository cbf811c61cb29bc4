"""Ctrl-C and SIGTERM, which stop a command even where Python loses the KeyboardInterrupt."""

import _thread
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)
"""The signals that ask a process to stop."""

AGAIN = 0.05
"""A lost interrupt is raised again after this many seconds."""

PATIENCE = 0.5
"""Seconds that a command waits for its threads at its end, because nothing stops a compiler."""

Interrupts = list[str]
"""The signals so far that ask to stop. As soon as there is one, training stops after its next step."""

received: list[int] = []
"""The signals among `STOPS` that came since the outermost block of `remembered` began."""


_left_behind: list[futures.Future[Any]] = []


@contextlib.contextmanager
def remembered() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt in this block, and also add to the list that the block gets.

    The interrupt can be lost in three ways. Python drops what is raised in a callback of the garbage collector, and
    jax has such a callback. So it is raised again a moment later. Some extensions turn it into an ImportError while
    they are imported. jax turns it into an error of its own while it calls Python. So any exception that leaves the
    outermost block after a signal becomes a KeyboardInterrupt again.

    A block inside another shares its list. Outside the main thread the list stays empty. A signal that is ignored,
    or that other code handles, is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    if any(signal.getsignal(number) is _press for number in STOPS):
        yield received
        return
    received.clear()
    defaults = (signal.default_int_handler, signal.SIG_DFL)
    before = {number: handler for number in STOPS if (handler := signal.getsignal(number)) in defaults}
    unraisable = sys.unraisablehook

    def lost(what: Any) -> None:
        if received and issubclass(what.exc_type, KeyboardInterrupt):
            again = threading.Timer(AGAIN, _press_again)
            again.daemon = True
            again.start()
        else:
            unraisable(what)

    for number in before:
        signal.signal(number, _press)
    if before:
        sys.unraisablehook = lost
    try:
        yield received
    except Exception:
        if received:
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def patient(say: Callable[[str], None]) -> Iterator[Interrupts]:
    """The first signal in this block only adds to the list that the block gets. The second stops at once.

    So a training step is not cut off, and there is something to save. A signal that is ignored stays ignored, as
    Ctrl-C is by commands that a script runs in the background.

    Args:
        say: called with a line after the first signal.
    """
    pressed: Interrupts = []

    def press(number: int, frame: Any) -> None:
        received.append(number)
        if pressed:
            raise KeyboardInterrupt
        pressed.append(signal.Signals(number).name)
        say("stopping after this step; Ctrl-C again stops at once, without a checkpoint of it")

    heeded = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, press) for number in heeded}
    try:
        yield pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def heed() -> None:
    """Stop long work in any thread: call it between two of its steps.

    Raises:
        KeyboardInterrupt: if a signal came during a block of `remembered` that still runs.
    """
    # Signals stay in the list after the block: they say with which code the process ends.
    if received and any(signal.getsignal(number) is _press for number in STOPS):
        raise KeyboardInterrupt


def leave_behind(work: Iterable[futures.Future[Any]]) -> None:
    """Wait a moment for work that was asked to stop. Work that goes on ends with the process, by `exits`."""
    _left_behind[:] = futures.wait(work, PATIENCE).not_done


def is_left_behind() -> bool:
    """Whether work of this command still goes on, for which Python would wait before it ends."""
    return not all(work.done() for work in _left_behind)


def _press(number: int, frame: Any) -> None:
    received.append(number)
    raise KeyboardInterrupt


def _press_again() -> None:
    # By then the block may have been left, with nothing to stop.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        _thread.interrupt_main()
