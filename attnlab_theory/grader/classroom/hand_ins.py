"""What a class has handed in: every entry of a folder, by its content. No link is followed."""

import dataclasses
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from attnlab_theory.exits import visible
from attnlab_theory.grader.classroom import versions
from attnlab_theory.grader.classroom.senders import ATTEMPT, METADATA, NOBODY, Sender, metadata_of, sender_of

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
    others: tuple[Path, ...] = ()
    """Further files of the same hand-in, where a system for courses keeps no folders."""
    sender: Sender = NOBODY
    """Who has handed it in, and when, as far as its name says it."""
    instead_of: tuple[str, ...] = ()
    """The names of earlier entries of the same sender. They are not judged."""

    @property
    def name(self) -> str:
        """Its name in printable characters: those that a terminal obeys or cannot show are written out."""
        return visible(self.path.name, lines=False)

    @property
    def page(self) -> str:
        """The name of its page. It is made here: no stranger's name becomes the name of a file."""
        named = hashlib.sha256(os.fsencode(self.path.name)).hexdigest()
        return f"{hashlib.sha256(f'{named} {self.content}'.encode()).hexdigest()[:20]}.html"


def hand_ins(folder: Path) -> list[HandIn]:
    """All submissions in a folder, in the order of their names. A file is a submission, and so is a folder.

    Raises:
        ValueError: if there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        what = "is a file; name the folder in which it lies" if folder.exists() else "is not a folder"
        raise ValueError(f"{visible(str(folder), lines=False)} {what}")
    metadata = metadata_of(folder)
    kept: dict[tuple[str, ...], list[tuple[Path, Sender]]] = {}
    for path in sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name)):
        if not _passed_over(path.name) and not (metadata and path.name == METADATA):
            sender = sender_of(path.name, metadata)
            kept.setdefault(sender.key or ("", path.name), []).append((path, sender))
    if not kept:
        raise ValueError(f"nothing has been handed in: {visible(str(folder), lines=False)} is empty")
    found = [_together(entries) for entries in kept.values()]
    return sorted(found, key=lambda each: os.fsencode(each.path.name))


def one_hand_in(folder: Path) -> list[HandIn]:
    """A folder that is a single submission.

    Raises:
        ValueError: if there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"{visible(str(folder), lines=False)} is not a folder")
    return [_read(folder, NOBODY, (), ())]


def _together(entries: Sequence[tuple[Path, Sender]]) -> HandIn:
    """What one sender has handed in, in one or several entries. Of several versions the last one counts."""
    ordered = sorted(entries, key=lambda entry: (not entry[1].is_text, entry[1].time, entry[1].order))
    last, *earlier = reversed(ordered)
    current, replaced = [last], list[tuple[Path, Sender]]()
    for path, sender in earlier:
        is_other = sender.file and not sender.is_text and not any(_replaces(new, (path, sender)) for new in current)
        (current if is_other else replaced).append((path, sender))
    others = tuple(path for path, _ in current[1:])
    return _read(last[0], last[1], others, tuple(visible(path.name, lines=False) for path, _ in replaced))


def _replaces(new: tuple[Path, Sender], old: tuple[Path, Sender]) -> bool:
    """Whether a later file is the same one again: by its name, or because it defines all that is in the earlier."""
    if new[1].version == old[1].version:
        return True
    before = _defined(old[0])
    return bool(before) and before <= _defined(new[0])


def _defined(path: Path) -> set[str]:
    found = path.lstat()
    is_short = stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES
    return {*versions.functions(path)} if is_short else set()


def _read(path: Path, sender: Sender, others: tuple[Path, ...], instead_of: tuple[str, ...]) -> HandIn:
    hand_in = HandIn(path=path, content="", others=others, sender=sender, instead_of=instead_of)
    try:
        return dataclasses.replace(hand_in, content=content_of(files_in(hand_in)))
    except Unjudgeable as error:
        return dataclasses.replace(hand_in, refused=str(error))


def files_in(hand_in: HandIn) -> dict[str, bytes]:
    """The files of a hand-in, by their names inside it.

    Raises:
        Unjudgeable: if there is no Python in it, it is too large, or it cannot be read.
    """
    if not hand_in.others:
        return files_of(hand_in.path)
    found: dict[str, bytes] = {}
    for path in (hand_in.path, *hand_in.others):
        try:
            if stat.S_ISLNK(path.lstat().st_mode):
                raise Unjudgeable("holds a link, which is not followed; put the file itself there")
            content = _content(path, MOST_BYTES - sum(map(len, found.values())))
        except OSError as error:
            raise Unjudgeable(f"cannot be read: {error.strerror or error}") from None
        # Without the number of the attempt: another file may import it.
        found[ATTEMPT.sub("", Path(sender_of(path.name, {}).file).name)] = content
    if not any(name.lower().endswith(SUFFIXES) for name in found):
        raise Unjudgeable("holds no Python file and no notebook")
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
