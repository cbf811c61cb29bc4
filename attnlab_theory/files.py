"""Files that are either whole or absent."""

import contextlib
import errno
import glob
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its name when the block ends well, and vanishes otherwise.

    Raises:
        OSError: if the folder cannot be written, or `path` is a folder.
    """
    with _temporary(path) as temporary:
        yield temporary
        _rename({temporary: path})


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes that were `replacing` a path have left beside it; nobody may be writing it."""
    for left in path.parent.glob(f".writing-{glob.escape(path.stem)}.????????{glob.escape(path.suffix)}"):
        left.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_all(stem: Path, suffixes: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Temporary paths that take the names STEM + suffix, in this order, when the block ends well, else vanish.

    They are renamed one behind the other: only what stops the process in between leaves some renamed.

    Raises:
        OSError: if the folder cannot be written, or one of the names is a folder's.
    """
    paths = {suffix: stem.with_name(stem.name + suffix) for suffix in suffixes}
    with contextlib.ExitStack() as files:
        temporary = {suffix: files.enter_context(_temporary(path)) for suffix, path in paths.items()}
        yield temporary
        _rename({temporary[suffix]: path for suffix, path in paths.items()})


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A new file beside `path` that is gone behind the block, unless it has another name by then."""
    handle, name = tempfile.mkstemp(prefix=f".writing-{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _rename(names: dict[Path, Path]) -> None:
    """Give every file its name, or none where a folder has one of the names."""
    for path in names.values():
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{path.name} is a folder", str(path))
    for temporary, path in names.items():
        temporary.chmod(0o644)
        temporary.replace(path)


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that could not be written later, before hours go into what shall be in it.

    Raises:
        ValueError: if `path` is a folder, or its folder is missing or cannot be written.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}; name a file in another folder") from None


def refuse_input(path: Path, *read: Path | None) -> None:
    """Refuse to write over what is read, by whatever name.

    Raises:
        ValueError: if `path` is one of the files that are read.
    """
    if path.exists() and any(other is not None and other.exists() and path.samefile(other) for other in read):
        raise ValueError(f"{path} would be read and written over: name another file for what is written")


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a folder, or the name of a file, against other processes that would hold it too.

    It is free again when this process ends, however. Where the system has no such locks, or the disk none, nothing
    is held.

    Raises:
        ValueError: if another process holds it.
        OSError: if the folder is missing or cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder = path.is_dir()
    lock = path if folder else path.with_name(f".{path.name}.lock")
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


def make_folder(folder: Path) -> None:
    """Make a folder, where there is none, before minutes go into what shall be in it.

    Raises:
        ValueError: if it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(unwritable_folder(folder, error)) from None


def unwritable_folder(folder: Path, error: OSError) -> str:
    """What to say, in one line, of a folder that was given by --out and cannot be written."""
    return f"cannot write into {folder}: {error.strerror or error}; choose another folder with --out"


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
