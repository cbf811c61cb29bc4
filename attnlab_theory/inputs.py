"""Files that somebody else has written: read whole, but never more of them than a machine can hold.

A device gives bytes for ever. A pipe that nobody writes gives none. A sparse file has more than fit into memory.
"""

import json
import os
import re
import select
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 2**31
"""Bytes that are read of one file."""

MOST_JSON = 2**28
"""Bytes that are read of a JSON file, which takes ten times as many in memory."""

UNWRITTEN = 5.0
"""Seconds that a pipe is waited for until somebody writes it."""

SILENT = 60.0
"""Seconds that a pipe is waited for between two of its bytes."""

CHUNK = 2**20
"""Bytes that are asked for at once."""


def content(path: Path, *, most: int = MOST) -> bytes:
    """All bytes of a file or a pipe.

    Args:
        path: of the file; `/dev/stdin` is what the standard input is connected to.
        most: bytes that it may have.

    Raises:
        ValueError: in one line, if it is missing, a folder, an endless device, larger, a pipe that nobody writes,
            or cannot be read.
    """
    try:
        # With patience, opening a pipe that nobody writes would never end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            return _content(handle, path, most)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}; name another file") from None


def _content(handle: int, path: Path, most: int) -> bytes:
    found = os.fstat(handle)
    if stat.S_ISDIR(found.st_mode):
        raise ValueError(f"{path} is a folder; name a file in it")
    chunks: list[bytes] = []
    endless, piped = stat.S_ISCHR(found.st_mode) and not os.isatty(handle), stat.S_ISFIFO(found.st_mode)
    size = found.st_size
    while size <= most and (chunk := _next(handle, path, waiting=piped and not chunks)):
        if endless:
            raise ValueError(f"{path} is a device, which has no end; name a file")
        chunks.append(chunk)
        size = max(size, sum(map(len, chunks)))
    if size > most:
        raise ValueError(f"{path} has {size:,} bytes or more, and at most {most:,} are read; name a smaller file")
    return b"".join(chunks)


def _next(handle: int, path: Path, *, waiting: bool) -> bytes:
    """Some more bytes; none at the end. Who is `waiting` has met nobody yet who writes."""
    until = time.monotonic() + UNWRITTEN
    while True:
        try:
            chunk = os.read(handle, CHUNK)
        except BlockingIOError:
            if not select.select([handle], [], [], SILENT)[0]:
                raise ValueError(
                    f"{path} is a pipe into which nothing came for {SILENT:g} s; name a file"
                ) from None
            waiting = False
            continue
        if chunk or not waiting:
            return chunk
        if time.monotonic() > until:
            raise ValueError(f"{path} is a pipe that nobody writes; name a file")
        time.sleep(0.01)


def json_of(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        ValueError: as `content`, or if it is no JSON.
    """
    text = content(path, most=MOST_JSON)
    try:
        return _loaded(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from None


def _loaded(text: bytes) -> Any:
    value = json.loads(text.decode("utf-8"), parse_constant=_refused)
    if HALVES.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a character, which no file of text can hold") from None
    return value


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
"""Halves of a character, as JSON may write them. Two of them make a whole one."""

DAMAGED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What comes of values that are not of the form that was expected."""


def parsed(path: Path, made: Callable[[Any], T], *, remedy: str) -> T:
    """What is made of a JSON file.

    Args:
        path: of the file.
        made: makes it, and raises where the file is not of the form that it should have.
        remedy: what to do about that.

    Raises:
        ValueError: as `content`, or if it is no JSON, or `made` could make nothing of it.
    """
    text = content(path, most=MOST_JSON)
    try:
        return made(_loaded(text))
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged: {reason_in(error)}; {remedy}") from error


def refuse_other_fields(value: Any, kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse what is no JSON object, or has not all of the fields, each of its kind; truth values are no numbers.

    Raises:
        TypeError: if it is no object.
        KeyError: naming the field that is missing.
        ValueError: naming the field that is of another kind, and its value.
    """
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is no object with fields")
    for name, kind in kinds.items():
        if not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise ValueError(f"{name} cannot be {value[name]!r:.40}")


def reason_in(error: Exception) -> str:
    """What an error says; a KeyError says a name alone."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
