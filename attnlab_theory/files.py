"""Files that are either whole or absent, and that take no other's place.

`refuse_unwritable` decides what may be written over: nothing that is read, and nothing that this package has not
written in the same `Form`, unless `--force` is said.
"""

import atexit
import contextlib
import enum
import errno
import glob
import json
import os
import re
import secrets
import select
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


class Form(enum.StrEnum):
    """What a command writes. A command may write over a file of its own form that this package has written."""

    FINDINGS = "findings"
    """Findings, estimates, records and summaries in JSON."""

    AUTOGRADER = "autograder"
    JOURNAL = "journal"
    TABLE = "table"
    ANSWERS = "answers"
    GRADES = "grades"
    """Pages of grades."""

    ROWS = "rows"
    BADGE = "badge"
    FIGURE = "figure"
    DOCUMENT = "document"
    """Markdown."""

    MODEL = "model"
    VECTORS = "vectors"
    LINES = "lines"
    """Plain lines, which say of nobody who has written them: such a file is never ours."""


def _json(*names: tuple[str, str]) -> bytes:
    """A value in JSON, by its first two names, for one alone is anybody's."""
    pairs = b"|".join(
        rb'(?:%s)": (?:"(?:[^"\\]|\\.)*"|[\w.+-]+|[\[{].{,2000}?[\]}]),\s*"(?:%s)": ' % (one.encode(), two.encode())
        for one, two in names
    )
    return rb'\s*[\[{](\s*\{)?\s*"(?:' + pairs + rb")"


_PAGE = (
    rb'<!doctype html>\s*<html lang="en">\s*<head>\s*<meta charset="utf-8">\s*'
    rb"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\s*"
    rb'<meta name="generator" content="attnlab %s">'
)

OURS = {
    Form.FINDINGS: rb"\[\]\s*\Z|"
    + _json(
        ("experiment", "claim"),
        ("quantity", "setting"),
        ("arm|variant", "seed"),
        ("name", "cell|gold"),
        ("batch", "rate"),
        ("question", "seed|preset|part|commit"),
        ("schema", "attnlab|parts"),
        ("entry", "library"),
    )
    + rb'|\s*\{\s*"origin": \{\s*"stage": ',
    Form.AUTOGRADER: _json(("output_format", "stdout_visibility")),
    Form.JOURNAL: rb'\{"graded": ',
    Form.TABLE: rb"submission,points,of,by hand,",
    Form.ANSWERS: _PAGE % b"answers",
    Form.GRADES: _PAGE % b"grades",
    Form.ROWS: rb"<\?xml [^>]*>\s*<testsuite name=[^>]* as [^>]*>\s*<testcase classname=.conform\.",
    Form.BADGE: rb"<svg [^>]* attnlab ",
    Form.FIGURE: rb"<\?xml .{,1500}<dc:title>attnlab</dc:title>|\x89PNG.{,120}Software\x00attnlab",
    Form.DOCUMENT: rb"<!-- Written by attnlab ",
    Form.MODEL: rb'.{8}\{"__metadata__":\{"attnlab":',
    Form.VECTORS: rb"PK.{28}about\.npy|PK.{28}[\w-]+/q\.npy|.{,8}\x12\x07attnlab",
    Form.LINES: rb"(?!)",
}
"""How the outputs of this package begin, by form. What begins otherwise is somebody else's."""

FORMS = {
    ".json": Form.FINDINGS,
    ".html": Form.GRADES,
    ".svg": Form.FIGURE,
    ".png": Form.FIGURE,
    ".md": Form.DOCUMENT,
    ".txt": Form.LINES,
    ".predictions": Form.LINES,
}
"""What is written into a folder, by the end of a name that a command has chosen."""

BEGINNING = 4096
"""The bytes of a file that are looked at."""

UNREAD = 5.0
"""The longest wait for somebody who reads a pipe, in seconds; of one who reads on, twelve times as long."""

_forced: bool | None = None
"""Whether the command may write over files of others, by its option `--force`. None if it has no such option."""

_unfinished: set[Path] = set()
"""Temporary files of this process; those that an interrupt left are removed when Python ends."""


def remove_unfinished() -> None:
    """Remove what this process was writing. Python's end does so too; who ends without it calls this first."""
    for temporary in tuple(_unfinished):
        with contextlib.suppress(OSError):
            temporary.unlink()


atexit.register(remove_unfinished)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unfinished.clear)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that takes the name `path` when the block ends well, and vanishes otherwise.

    What a link points to is replaced, and the link stays. A device or a pipe is written to instead.

    Raises:
        OSError: with the path in it, if it cannot be written, is a folder, or the disk is full.
    """
    with named(path), _temporary(path) as temporary:
        yield temporary
        _rename({temporary: path})


@contextlib.contextmanager
def replacing_all(stem: Path, suffixes: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Temporary paths, one for each suffix. If the block ends well, they take the names STEM + suffix, else vanish.

    They are renamed one after the other. Only if the process is killed in between are some renamed and others not.

    Raises:
        OSError: with the path in it, if one cannot be written, is a folder, or the disk is full.
    """
    paths = {suffix: stem.with_name(stem.name + suffix) for suffix in suffixes}
    with contextlib.ExitStack() as files:
        files.enter_context(named(stem))
        temporary = {suffix: files.enter_context(_temporary(path)) for suffix, path in paths.items()}
        yield temporary
        _rename({temporary[suffix]: path for suffix, path in paths.items()})


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes that were `replacing` a path have left beside it.

    Who still writes holds a lock on its file. Where the system has no such locks, nothing is removed.
    """
    _remove_abandoned(path.parent, _pattern(glob.escape(path.stem), glob.escape(path.suffix)))


def _pattern(stem: str, suffix: str) -> str:
    return f".writing-{stem}.????????{suffix}"


def _remove_abandoned(folder: Path, pattern: str) -> None:
    for left in folder.glob(pattern):
        with contextlib.suppress(OSError):
            handle = os.open(left, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                if _locked(handle):
                    left.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _locked(handle: int) -> bool:
    """Whether this process has the lock of a file now: nobody else has it, and the system has such locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file's name to an error that lacks it: a full disk does not say which file has no room."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from None


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A new empty file, beside what `path` points to, that is gone after the block, unless it was renamed."""
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder, path.name)
            temporary.touch()
            yield temporary
        return
    place = _place(path)
    remove_abandoned(place)
    handle, temporary = _new_file(place)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)
        os.close(handle)


def _new_file(place: Path) -> tuple[int, Path]:
    """A new file with a name that no other file has, opened and locked."""
    while True:
        temporary = place.with_name(f".writing-{place.stem}.{secrets.token_hex(4)}{place.suffix}")
        _unfinished.add(temporary)
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            _unfinished.discard(temporary)
            if isinstance(error, FileExistsError):
                continue
            raise
        # Before it was locked, another process may have taken it for abandoned.
        _locked(handle)
        if os.fstat(handle).st_nlink:
            return handle, temporary
        _unfinished.discard(temporary)
        os.close(handle)


def _place(path: Path) -> Path:
    """Where the file lies that has this name: at the end of its links."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def is_stream(path: Path) -> bool:
    """Whether the path is a device or a pipe, which can be written but not replaced."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)


def _rename(names: dict[Path, Path]) -> None:
    """Give every file its name. If one of the names is a folder's, rename none."""
    for path in names.values():
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{path.name} is a folder", str(path))
    for temporary, path in names.items():
        if is_stream(path):
            with temporary.open("rb") as source, _opened(path) as stream:
                shutil.copyfileobj(source, stream)
            continue
        place = _place(path)
        temporary.chmod(stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o644)
        temporary.replace(place)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator["_Stream"]:
    """A device or a pipe, opened for writing. A pipe that nobody reads would be waited for without end."""
    until = time.monotonic() + UNREAD
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            break
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                raise OSError(error.errno, "nobody reads this pipe", str(path)) from None
            time.sleep(0.01)
    try:
        yield _Stream(handle, path)
    finally:
        os.close(handle)


class _Stream:
    """What is written to a device or a pipe, as far as its reader comes."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle, self._path = handle, path

    def write(self, piece: bytes) -> int:
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(self._handle, left) :]
            except BlockingIOError:
                if not select.select([], [self._handle], [], 12 * UNREAD)[1]:
                    raise OSError(errno.EAGAIN, "nobody reads on in this pipe", str(self._path)) from None
        return len(piece)


def remove_folder(folder: Path) -> None:
    """Remove a folder and all in it, as far as the system allows, however deep its folders lie in each other.

    No link is followed. Deep folders are moved up: a path may not be as long as theirs, and no call goes as deep.
    """
    token, moved = secrets.token_hex(8), 0
    with contextlib.suppress(OSError):
        while inner := [entry for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]:
            for entry in inner:
                for below in _entries(entry):
                    if below.is_dir(follow_symlinks=False):
                        os.chmod(below, 0o700)
                        os.rename(below, folder / f"{token}-{moved}")
                        moved += 1
                    else:
                        os.unlink(below)
                os.rmdir(entry)
        for entry in _entries(folder):
            os.unlink(entry)
        folder.rmdir()


def remove_abandoned_folder(folder: Path) -> None:
    """Remove a folder of this user that nobody holds, and no link. Where there are no locks, nothing is removed."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            # In a folder for everybody, somebody else may have given this name.
            if os.fstat(handle).st_uid == os.geteuid() and _locked(handle):
                remove_folder(folder)
        finally:
            os.close(handle)


def _entries(folder: "Path | os.DirEntry[str]") -> "list[os.DirEntry[str]]":
    os.chmod(folder, 0o700)
    with os.scandir(folder) as entries:
        return list(entries)


def force(forced: bool | None) -> None:
    """Let this command write over files of others, or not; None if it has no option for that."""
    global _forced
    _forced = forced


def refuse_unwritable(path: Path, *read: Path | None, form: Form) -> None:
    """Refuse a file that could not be written, or that may not. Call it before hours go into the contents.

    Links are followed: what counts is the file at their end.

    Args:
        path: what is to be written.
        read: what the command reads, or writes besides.
        form: what will be written there.

    Raises:
        ValueError: if `path` is a folder, or its folder is missing or cannot be written. Also if it is one of those
            that are read, or a file that this package has not written in this form and nobody has said `--force`.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if any(other is not None and is_one(path, other) for other in read):
        raise ValueError(f"{path} would be read and written over: name another file for what is written")
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"{path} cannot be written: Permission denied; name another file")
        return
    if not _forced and not is_ours(path, form):
        or_else = "" if _forced is None else ", or say --force"
        what = "is of another command" if is_ours(path) else "is not a file that attnlab has written"
        raise ValueError(f"{path} {what}: name another one{or_else}")
    folder = _place(path).parent
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}; name a file in another folder") from None


def is_one(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file or folder."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def is_ours(path: Path, form: Form | None = None) -> bool:
    """Whether nothing of others is lost if this file is written over: this package wrote it, or there is nothing.

    A figure is known by its numbers, which lie beside it in JSON under the same name.

    Args:
        path: the file.
        form: what it has to be; by default anything that this package writes.
    """
    forms = tuple(Form) if form is None else (form,)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if is_stream(path) or path.is_dir():
        os.close(handle)
        return False
    with open(handle, "rb") as file:
        beginning = file.read(BEGINNING)
    if not beginning or any(re.match(OURS[each], beginning, re.DOTALL) for each in forms):
        return True
    if Form.FIGURE not in forms or path.suffix not in (".svg", ".png"):
        return False
    numbers = [path.with_suffix(end) for end in (".json", ".run.json")]
    return any(each.is_file() and each.stat().st_size and is_ours(each, Form.FINDINGS) for each in numbers)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a folder, or the name of a file, until the block ends, so that no other process can hold it.

    It is free again once this process ends, however it ends. Where the system or the disk has no locks, nothing is
    held. The package filelock would leave a file in the folder; without locks, that file outlives a killed run.

    Raises:
        ValueError: if another process holds it, or its lock has the name of a pipe, a link or somebody's file.
        OSError: if the folder is missing or cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    if is_stream(path):
        yield
        return
    folder = path.is_dir()
    lock = path if folder else path.with_name(f".{path.name}.lock")
    if is_stream(lock):
        raise ValueError(f"{lock} is a pipe or a device where a lock of attnlab would be: remove it")
    if not folder and (lock.is_symlink() or (lock.exists() and lock.stat().st_size)):
        raise ValueError(f"{lock} is somebody's where a lock of attnlab would be: move it, or name another file")
    handle = os.open(lock, os.O_RDONLY if folder else os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                what = "choose another folder with --out" if folder else "name another file"
                raise ValueError(f"another run is writing into {path}: wait for it, or {what}") from None
        try:
            yield
        finally:
            if not folder:
                lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def make_folder(folder: Path, *names: str, read: Sequence[Path | None] = (), option: str = "--out") -> None:
    """Make a folder if it does not exist. Call it before minutes go into its contents.

    Half-written files of killed processes are removed from it.

    Args:
        folder: to make.
        names: the files that are written into it.
        read: what the command reads.
        option: that names the folder.

    Raises:
        ValueError: if it cannot be made or written, or `refuse_unwritable` refuses one of the files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(unwritable_folder(folder, error, option)) from None
    _remove_abandoned(folder, _pattern("*", "*"))
    for name in names:
        refuse_unwritable(folder / name, *read, form=FORMS[Path(name).suffix])


@contextlib.contextmanager
def replacing_folder(folder: Path, *, names: str, read: Sequence[Path] = ()) -> Iterator[Path]:
    """A temporary folder that takes the name `folder` when the block ends well, and vanishes otherwise.

    A folder that stands there is replaced whole, so every file in it has to be one that such a block has written.

    Args:
        folder: to write.
        names: a JSON file that the block writes, with the names of all files of the folder in its field `files`.
        read: folders that the command reads.

    Raises:
        ValueError: if the folder holds what no earlier block has written, is read, or cannot be made.
    """
    place = _place(folder)
    if any(is_one(folder, each) for each in read):
        raise ValueError(f"{folder} would be read and written over: name another folder with --out")
    if place.exists() and (foreign := _foreign(place, names)):
        raise ValueError(f"{foreign} is not a file of an earlier book: choose another folder with --out")
    made = place.with_name(f".writing-{place.name}.{secrets.token_hex(4)}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        for left in place.parent.glob(f".writing-{glob.escape(place.name)}.????????"):
            remove_abandoned_folder(left)
        made.mkdir()
    except OSError as error:
        raise ValueError(unwritable_folder(folder, error)) from None
    try:
        with held(made), named(made):
            yield made
            old = made.with_name(f"{made.name}.old")
            if place.exists():
                place.rename(old)
            made.rename(place)
            remove_folder(old)
    finally:
        remove_folder(made)


def _foreign(folder: Path, names: str) -> Path | None:
    """A file in a folder that the list of its own files does not name; the folder itself if it is none."""
    if not folder.is_dir():
        return folder
    own = set()
    if (folder / names).is_file() and is_ours(folder / names, Form.FINDINGS):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            own = {*json.loads((folder / names).read_text("utf-8"))["files"]}
    found = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return next((path for path in found if path.relative_to(folder).as_posix() not in own), None)


def unwritable_folder(folder: Path, error: OSError, option: str = "--out") -> str:
    """One line about a folder that an option named, and that cannot be written."""
    file = next((each for each in (folder, *folder.parents) if each.is_file()), None)
    what = error.strerror or error if file is None else f"{file} is a file"
    return f"cannot write into {folder}: {what}; choose another folder with {option}"


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
