"""How a command ends: with an exit code, and one line on standard error where it could not be done."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attnlab_theory import interrupts


def exit_code(command: Callable[[], int]) -> int:
    """Run a command, whether or not anybody reads what it prints, and say in one line what it refuses.

    Returns:
        Its exit code; 2 for bad input, or more than the machine can hold; 130 after Ctrl-C, 143 after SIGTERM.
    """
    with contextlib.redirect_stdout(_unread(sys.stdout)), contextlib.redirect_stderr(_unread(sys.stderr)):
        code = _in_one_line(command)
    return 143 if code == 130 and signal.SIGTERM in interrupts.received else code


def refuse(message: str) -> int:
    """Say on standard error, in one line, what was wrong with the input; the exit code for it."""
    print(f"attnlab: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _in_one_line(command: Callable[[], int]) -> int:
    try:
        with interrupts.remembered():
            try:
                return command()
            finally:
                print(end="", flush=True)
    except ValueError as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(": ".join(str(part) for part in (error.filename, error.strerror) if part) or str(error))
    except (MemoryError, OverflowError) as error:
        # numpy says how much was wanted; Python itself says nothing.
        text = str(error) or type(error).__name__
        return refuse(f"the numbers asked for are too large: {text}; ask for smaller ones")
    except RuntimeError as error:
        # So jax says that there is no memory; anything else is a mistake of ours and keeps its traceback.
        if not str(error).startswith("RESOURCE_EXHAUSTED"):
            raise
        return refuse(f"the sizes asked for are too large: {error}; ask for smaller ones")
    except KeyboardInterrupt:
        print("attnlab: interrupted", file=sys.stderr)
        return 130


def _unread(stream: Any) -> Any:
    """The same stream, for readers that may leave; Python has none where it was closed from the start."""
    return stream and _Unread(stream)


class _Unread:
    """A stream whose reader may leave, as in `attnlab list | head`: the rest is lost, and the work goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._until_the_reader_leaves():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._until_the_reader_leaves():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _until_the_reader_leaves(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What lies in the buffer is lost, too: else Python's own last flush would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if not isinstance(error, BrokenPipeError):
                raise OSError(error.errno, error.strerror, self._stream.name) from None
