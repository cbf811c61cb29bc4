"""What a class has handed in: every entry of a folder, by its content. No link is followed."""

import dataclasses
import hashlib
import os
import stat
from pathlib import Path

SUFFIXES = (".py", ".ipynb")
PASSED_OVER = ("__pycache__", "__MACOSX")
"""Entries that programs leave in folders. They are passed over, and so is whatever begins with a dot."""

MOST_BYTES = 64 * 2**20
"""The most bytes in all files of a submission."""

MOST_FILES = 1000
DEEPEST = 20
"""The most folders inside each other."""


class Unjudgeable(ValueError):
    """Code cannot judge what was handed in. The message is one line."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HandIn:
    """One entry of the folder."""

    path: Path
    content: str
    """A hash of all its files; empty if they were not read."""
    refused: str = ""
    """Why code cannot judge it."""

    @property
    def name(self) -> str:
        """Its name in printable characters: those that a terminal obeys or cannot show are written out."""
        return shown(self.path.name)

    @property
    def page(self) -> str:
        """The name of its page. It is made here: no stranger's name becomes the name of a file."""
        named = hashlib.sha256(os.fsencode(self.path.name)).hexdigest()
        return f"{hashlib.sha256(f'{named} {self.content}'.encode()).hexdigest()[:20]}.html"


def shown(name: str) -> str:
    """A name as printable characters alone."""
    return "".join(c if c.isprintable() else _written_out(c) for c in name)


def _written_out(c: str) -> str:
    # A byte that is no character came as half of one.
    code = ord(c) - 0xDC00 if 0xDC80 <= ord(c) <= 0xDCFF else ord(c)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def hand_ins(folder: Path) -> list[HandIn]:
    """All submissions in a folder, in the order of their names. A file is a submission, and so is a folder.

    Raises:
        ValueError: if there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        what = "is a file; name the folder in which it lies" if folder.exists() else "is not a folder"
        raise ValueError(f"{shown(str(folder))} {what}")
    found = []
    for path in sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name)):
        if _passed_over(path.name):
            continue
        try:
            found.append(HandIn(path=path, content=content_of(files_of(path))))
        except Unjudgeable as error:
            found.append(HandIn(path=path, content="", refused=str(error)))
    if not found:
        raise ValueError(f"nothing has been handed in: {shown(str(folder))} is empty")
    return found


def files_of(path: Path) -> dict[str, bytes]:
    """The files of a submission: the bytes of each by its name inside the submission.

    A single file is called `submission`, whatever it was called.

    Raises:
        Unjudgeable: if there is no Python in it, it is too large, or it cannot be read.
    """
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise Unjudgeable("is a link, which is not followed; put the file itself there")
        if not stat.S_ISDIR(mode):
            suffix = path.suffix.lower()
            if suffix not in SUFFIXES:
                raise Unjudgeable("is neither a Python file nor a notebook: its name must end in .py or .ipynb")
            return {f"submission{suffix}": _content(path, MOST_BYTES)}
        found = _below(path)
    except OSError as error:
        raise Unjudgeable(f"cannot be read: {error.strerror or error}") from None
    if not any(name.lower().endswith(SUFFIXES) for name in found):
        raise Unjudgeable("holds no Python file and no notebook")
    return found


def content_of(files: dict[str, bytes]) -> str:
    """A hash of these files and their names."""
    total = hashlib.sha256()
    for name, content in sorted(files.items()):
        for part in (os.fsencode(name), content):
            total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def stage(files: dict[str, bytes], folder: Path) -> None:
    """Write the files of a submission into an empty folder. Its code sees them only there.

    All users may read them, because the code runs as another user.
    """
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o644)
        for above in place.relative_to(folder).parents:
            (folder / above).chmod(0o755)


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name in PASSED_OVER


def _below(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    for here, folders, names in os.walk(path, onerror=_raise):
        place = Path(here).relative_to(path)
        folders[:] = sorted(name for name in folders if not _passed_over(name))
        if len(place.parts) > DEEPEST:
            raise Unjudgeable(f"holds more than {DEEPEST} folders inside each other")
        for name in sorted(names):
            # Links, pipes and devices are nobody's answer.
            if _passed_over(name) or not stat.S_ISREG((Path(here) / name).lstat().st_mode):
                continue
            if len(found) == MOST_FILES:
                raise Unjudgeable(f"holds more than {MOST_FILES} files")
            found[str(place / name)] = content = _content(Path(here) / name, left)
            left -= len(content)
    return found


def _raise(error: OSError) -> None:
    raise error


def _content(path: Path, most: int) -> bytes:
    # Neither a link nor a pipe that nobody writes, even if it has just taken the place of the file.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unjudgeable("is not an ordinary file")
        content = file.read(most + 1)
    if len(content) > most:
        raise Unjudgeable(f"holds more than {MOST_BYTES // 2**20} MB")
    return content
