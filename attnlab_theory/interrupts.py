"""Ctrl-C that is not forgotten where the KeyboardInterrupt is lost."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def remembered() -> Iterator[list[int]]:
    """Every Ctrl-C raises KeyboardInterrupt as always, and also adds to a list.

    Python prints and drops whatever is raised in a callback of the garbage collector, and jax has one: whoever
    works for long looks at the list now and then. Some extensions turn it into an ImportError while they are
    imported: any exception that leaves the block behind a Ctrl-C is a KeyboardInterrupt again. The list stays
    empty outside the main thread, and where Ctrl-C is ignored or handled by somebody else.
    """
    pressed: list[int] = []

    def press(number: int, frame: Any) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    except Exception:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
