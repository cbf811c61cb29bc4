"""Files that are either whole or absent."""

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its name when the block ends well, and vanishes otherwise.

    Raises:
        OSError: if the folder cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".writing-{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes that were `replacing` a path have left beside it; nobody may be writing it."""
    for left in path.parent.glob(f".writing-{glob.escape(path.stem)}.????????{glob.escape(path.suffix)}"):
        left.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_all(stem: Path, suffixes: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Temporary paths that become STEM + suffix together when the block ends well, and all vanish otherwise.

    Raises:
        OSError: if the folder cannot be written.
    """
    with contextlib.ExitStack() as files:
        yield {suffix: files.enter_context(replacing(stem.with_name(stem.name + suffix))) for suffix in suffixes}


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
