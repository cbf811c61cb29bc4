"""The folder of a run. It belongs to one lab, because the files of several labs have the same names."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from attnlab_theory import files

RUN = ".run.json"
"""The end of the name of the record, which says what was run."""


BEGUN = ".begun"
"""The end of the name of the file that says so before there is a record. A killed run has no record."""


@contextlib.contextmanager
def begun(folder: Path, *own: str) -> Iterator[None]:
    """Make the folder of a run and hold it. Until the record is written, another file says whose run it is.

    Args:
        folder: where the results go.
        own: names of the runs that belong together, this one first.

    Raises:
        ValueError: if it cannot be made or written, holds a run of another kind, or another process holds it.
    """
    make_folder(folder, *own)
    with files.held(folder):
        # Somebody may have begun here since.
        refuse_others(folder, own)
        mark = folder / f"{own[0]}{BEGUN}"
        files.write_text(mark, f"attnlab {own[0]} has begun a run here, which is not finished.\n")
        try:
            yield
        finally:
            finished = any((folder / f"{name}{RUN}").exists() for name in own)
            if finished or set(folder.iterdir()) == {mark}:
                mark.unlink(missing_ok=True)


def make_folder(folder: Path, *own: str) -> None:
    """Make the folder of a run if it does not exist. Call it before anything is trained.

    Args:
        folder: where the results go.
        own: names of the runs that belong together: NAME.run.json is the record of each.

    Raises:
        ValueError: if it cannot be made or written, or holds a run that is none of these.
    """
    refuse_others(folder, own)
    files.make_folder(folder)


def refuse_others(folder: Path, own: Collection[str]) -> None:
    """Refuse a folder that holds another run, or somebody's own files where those of a run would be.

    Raises:
        ValueError: naming the record of that run, the file that says that it has begun, or somebody's file.
    """
    for about in sorted([*folder.glob(f"*{RUN}"), *folder.glob(f"*{BEGUN}")]):
        if about.name.removesuffix(RUN).removesuffix(BEGUN) not in own:
            raise ValueError(
                f"{folder} holds another run, which wrote {about.name}: its files would be written over; choose "
                "another folder with --out"
            )
    begun_here = any((folder / f"{name}{end}").exists() for name in own for end in (RUN, BEGUN))
    results = [] if begun_here else sorted(folder.glob("*.json"))
    # Figures and texts have no names of their own in a folder of results.
    known = begun_here or any(map(files.is_ours, results))
    ends = () if known else ("*.[sp][vn]g", "*.txt", "*.predictions")
    others = [path for end in ends for path in folder.glob(end)]
    for each in (*results, *sorted(others)):
        if not files.is_ours(each, files.FORMS[each.suffix]):
            raise ValueError(
                f"{folder} holds {each.name}, which attnlab has not written: choose another folder with --out"
            )
