"""Files that somebody else has written: read whole, but never more of them than a machine can hold.

A device gives bytes for ever. A pipe that nobody writes gives none. A sparse file has more than fit into memory.
"""

import json
import math
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
"""The most bytes of one file."""

MOST_JSON = 2**28
"""The most bytes of a JSON file, which takes ten times as many in memory."""

UNWRITTEN = 5.0
"""The longest wait for a pipe's first byte, in seconds."""

SILENT = 60.0
"""The longest wait between two bytes of a pipe, in seconds."""

CHUNK = 2**20
"""How many bytes are read at once."""


def content(path: Path, *, most: int = MOST) -> bytes:
    """All bytes of a file or a pipe.

    Args:
        path: of the file. `/dev/stdin` is whatever the standard input is connected to.
        most: the most bytes that it may have.

    Raises:
        ValueError: if it is missing, a folder, too large, an endless device, or a pipe that nobody writes, or if it
            cannot be read.
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
    """Some more bytes; none at the end. `waiting` says that the pipe has given nothing yet."""
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
        ValueError: if the file cannot be read whole, or is not JSON.
    """
    text = content(path, most=MOST_JSON)
    try:
        return _loaded(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None


def _loaded(text: bytes) -> Any:
    value = json.loads(
        text.decode("utf-8-sig"), parse_constant=_refused, parse_float=_finite, object_pairs_hook=_of_one_name_each
    )
    if HALVES.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(
                "it holds half of a character (a lone surrogate), which no text file can hold"
            ) from None
    return value


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits:.40} is beyond every float")
    return number


def _of_one_name_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it holds a field twice")
    return found


HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
"""Halves of a character, as JSON may write them. Two halves make one character."""

DAMAGED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""The errors that a value of an unexpected form may raise."""


def parsed(path: Path, made: Callable[[Any], T], *, remedy: str) -> T:
    """Read a JSON file, and make an object of its value.

    Args:
        path: of the file.
        made: turns the value into the object. It raises if the value does not have the right form.
        remedy: what to do then, for the message.

    Raises:
        ValueError: if the file cannot be read whole, is not JSON, or does not have that form.
    """
    text = content(path, most=MOST_JSON)
    try:
        return made(_loaded(text))
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged: {reason_in(error)}; {remedy}") from error


def refuse_other_fields(value: Any, kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse a value that is not a JSON object, lacks a field, or has one of another type. True is not a number.

    Raises:
        TypeError: if it is not an object.
        KeyError: naming the missing field.
        ValueError: naming the field of another type, and its value.
    """
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is not an object with fields")
    for name, kind in kinds.items():
        if not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise ValueError(f"{name} cannot be {value[name]!r:.40}")


def reason_in(error: Exception) -> str:
    """The message of an error, in words. A KeyError holds only the name that is missing."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
