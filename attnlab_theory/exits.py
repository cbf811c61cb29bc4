"""How a command ends: with an exit code, and one line on standard error if it failed."""

import contextlib
import errno
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from attnlab_theory import files, interrupts

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that a terminal obeys, or that nobody sees."""

LONGEST = 1500
"""The most characters of an error's line. What somebody typed may be as long as a book."""

OURS = r"\r|\x1b\[(?:[0-9;]*m|[0-9]*[AK]|\?25[hl])"
"""The control sequences that our own bars need: colours, a line up, a line cleared, the cursor."""

_leave = os._exit
"""The real `os._exit`. Somebody's own code gets a harmless one while it runs (`cli/own_claims.py`)."""

UNASKED = re.compile(f"{OURS}|({UNSEEN.pattern})")


def open_streams() -> None:
    """Put nothing in the place of standard streams that are closed. Else the next files would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


LEAST = {
    "RLIMIT_AS": (10**9, "bytes of address space", "ulimit -v"),
    "RLIMIT_DATA": (5 * 10**8, "bytes of data", "ulimit -d"),
    "RLIMIT_STACK": (2**20, "bytes of stack", "ulimit -s"),
    "RLIMIT_CPU": (0, "s of a processor", "ulimit -t"),
    "RLIMIT_NOFILE": (32, "open files", "ulimit -n"),
    "memory.max": (0, "bytes of memory", "the limit of its control group"),
}
"""Limits that end the process, or leave it no word: the least that it needs, the unit, and where they are set."""

USUAL = 8 * 10**6
"""The stack that systems give every process, in bytes. So much is no limit."""


def limits() -> dict[str, int]:
    """The limits of `LEAST` that this process has, in their units."""
    try:
        import resource
    except ImportError:
        return {}
    found = {name: resource.getrlimit(getattr(resource, name))[0] for name in LEAST if name.startswith("RLIMIT")}
    found = {name: most for name, most in found.items() if most != resource.RLIM_INFINITY}
    return found | dict(zip(["memory.max"], _of_control_groups(), strict=False))


def _of_control_groups() -> list[int]:
    """The least memory that the control groups of this process leave it, in bytes, if they limit it."""
    names = {"": "/sys/fs/cgroup{}/memory.max", "memory": "/sys/fs/cgroup/memory{}/memory.limit_in_bytes"}
    found = []
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as file:
        for kind, path in (line.strip().split(":", 2)[1:] for line in file):
            # In a container, only the upper folders are seen.
            for place in itertools.accumulate(["", *path.split("/")[1:]], "{}/{}".format):
                with contextlib.suppress(OSError, ValueError, KeyError), open(names[kind].format(place)) as limit:
                    found.append(int(limit.read()))
    # The older kind of groups writes no limit as a number that no machine has.
    return [min(found)] if found and min(found) < 2**60 else []


def narrow(*, memory: bool = True, time: bool = False, opened: bool = False) -> str:
    """The limits of this process, in words; nothing if it has none.

    Args:
        memory: whether those of memory are meant.
        time: whether those of time are meant.
        opened: whether that of open files is meant.
    """
    asked = {"RLIMIT_CPU": time, "RLIMIT_NOFILE": opened}
    found = {name: most for name, most in limits().items() if asked.get(name, memory)}
    narrow = {name: most for name, most in found.items() if name != "RLIMIT_STACK" or most < USUAL}
    return " and ".join(f"{most:,} {LEAST[name][1]} ({LEAST[name][2]})" for name, most in narrow.items())


def refuse_cramped() -> None:
    """Refuse to begin in a process that may have too little memory, or too few files, to say so later.

    Raises:
        ValueError: naming the limit.
    """
    for name, most in limits().items():
        least, what, typed = LEAST[name]
        if most < least:
            raise ValueError(f"this process may have {most:,} {what} ({typed}), and needs {least:,}: raise it")


def exit_code(command: Callable[[], int], *, announcement: str = "") -> int:
    """Run a command. If it refuses its input, print one line. Nobody needs to read what it prints.

    Args:
        command: gives its exit code.
        announcement: a terminal shows it until the command prints something.

    Returns:
        The exit code of the command. 2 for bad input or too little memory, 130 after Ctrl-C, 143 after SIGTERM.
    """
    shown = _Announcement(announcement)
    ours = (_unread(stream, shown.clear) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(next(ours)), contextlib.redirect_stderr(next(ours)), shown:
        code = _in_one_line(command)
        code = 143 if code == 130 and signal.SIGTERM in interrupts.received else code
        if interrupts.is_left_behind():
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            # Python would first wait for every thread, and a compiler takes many seconds.
            files.remove_unfinished()
            _leave(code)
    return code


def refuse(message: str) -> int:
    """Say on standard error, in one line, what is wrong with the input. Returns the exit code for it."""
    line = visible(" ".join(message.split()))
    if len(line) > LONGEST:
        line = f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
    _complain(line)
    return 2


def _complain(line: str) -> None:
    """A line on standard error. The exit code stays what it is where nobody can read that."""
    with contextlib.suppress(OSError):
        print(f"attnlab: {line}", file=sys.stderr)


def visible(text: str, *, lines: bool = True) -> str:
    """A stranger's text for people: what a terminal obeys, and what nobody sees, is written out.

    Names, messages, outputs and cells pass through here, whether they go to a terminal, a page, a table or JUnit.
    Written out are also marks that turn the direction of writing, and halves of characters.

    Args:
        text: of the stranger.
        lines: whether lines and tabs stay.
    """
    text = UNSEEN.sub(_written_out, text)
    return text if lines else re.sub("[\\t\\n]", _written_out, text)


def say(*lines: str) -> None:
    """Print lines in which a stranger may have written."""
    print(*map(visible, lines), sep="\n", flush=True)


def _written_out(found: re.Match[str]) -> str:
    # A byte that is no character came as half of one.
    codes = [ord(c) - 0xDC00 if 0xDC80 <= ord(c) <= 0xDCFF else ord(c) for c in found[0]]
    return "".join(f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}" if n < 65536 else f"\\U{n:08x}" for n in codes)


class NoDevice(ValueError):
    """JAX_PLATFORMS names a platform that this machine lacks. No submission is at fault."""


def missing_device(error: BaseException) -> NoDevice | None:
    """What an error of jax says of JAX_PLATFORMS; None if it says something else."""
    named = os.environ.get("JAX_PLATFORMS", "")
    # jax has no type of its own for this.
    says_so = isinstance(error, RuntimeError) and str(error).startswith("Unable to initialize backend")
    if not named or not says_so:
        return None
    return NoDevice(f"JAX_PLATFORMS={named} names no device of this machine: unset it, or say cpu")


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
        if error.errno == errno.ENOENT and _is_nowhere():
            return refuse("the folder in which this command began is gone: change to another one")
        if error.errno == errno.EMFILE and (most := narrow(memory=False, opened=True)):
            return refuse(f"too many files are open: this process may have {most}: raise it")
        return refuse(": ".join(str(part) for part in (error.filename, error.strerror) if part) or str(error))
    except (MemoryError, OverflowError) as error:
        # numpy says how much was wanted; Python itself says nothing.
        text = str(error) or type(error).__name__
        return refuse(f"the numbers asked for are too large: {text}; ask for smaller ones{_or_raise()}")
    except RuntimeError as error:
        # So jax says that there is no memory, or no such device; anything else is a mistake of ours and keeps its
        # traceback.
        if missing := missing_device(error):
            return refuse(str(missing))
        # So older Pythons say that a path has no end.
        if str(error).startswith("Symlink loop from"):
            return refuse(f"{error}: name another file or folder")
        if not str(error).startswith("RESOURCE_EXHAUSTED"):
            raise
        return refuse(f"the sizes asked for are too large: {error}; ask for smaller ones{_or_raise()}")
    except (ImportError, SystemError) as error:
        if not ({"RLIMIT_AS", "RLIMIT_DATA"} & limits().keys()):
            raise
        return refuse(f"this process may have too little, {narrow()}: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130


def _is_nowhere() -> bool:
    """Whether somebody has removed the folder in which this process is."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _or_raise() -> str:
    return f", or raise what this process may have: {most}" if (most := narrow()) else ""


class _Announcement:
    """A line on a terminal's standard error, which goes as soon as anything else is printed."""

    def __init__(self, text: str) -> None:
        self._stream = sys.stderr
        is_seen = self._stream is not None and self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._text = text if is_seen else ""

    def __enter__(self) -> None:
        self._write(self._text)

    def __exit__(self, *leaving: object) -> None:
        self.clear()

    def clear(self) -> None:
        text, self._text = self._text, ""
        self._write("\r\x1b[K" if text else "")

    def _write(self, text: str) -> None:
        if text:
            with contextlib.suppress(OSError):
                self._stream.write(text)
                self._stream.flush()


def _unread(stream: Any, before: Callable[[], object] = bool) -> Any:
    """The same stream, whose reader may leave. None if the stream was closed from the start.

    Args:
        stream: what is written to.
        before: a function that is called before anything is written.
    """
    return stream and _Unread(stream, before)


def _printable(text: str, stream: Any) -> str:
    """Text whose characters a stream can encode. Windows' streams into a file know 250 letters, and no Greek ones.

    Other characters are written out as JSON writes them, so JSON stays JSON.
    """
    encoding = getattr(stream, "encoding", None)
    if not encoding or getattr(stream, "errors", "strict") != "strict":
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(c if _encodes(encoding, c) else json.dumps(c)[1:-1] for c in text)
    return text


def _encodes(encoding: str, character: str) -> bool:
    try:
        return bool(character.encode(encoding))
    except UnicodeEncodeError:
        return False


class _Unread:
    """A stream whose reader may leave, as in `attnlab list | head`: the rest is lost, and the work goes on."""

    def __init__(self, stream: Any, before: Callable[[], object]) -> None:
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        if text:
            self._before()
        with self._until_the_reader_leaves():
            shown = UNASKED.sub(lambda found: _written_out(found) if found[1] else found[0], text)
            self._stream.write(_printable(shown if self._stream.isatty() else text, self._stream))
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
