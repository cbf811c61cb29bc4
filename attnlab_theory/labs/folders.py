"""The folder of a run: of one lab alone, for the files of several labs have the same names."""

from collections.abc import Collection
from pathlib import Path

from attnlab_theory import files

RUN = ".run.json"
"""How the name of the file ends that says what was run."""


def make_folder(folder: Path, *own: str) -> None:
    """Make the folder of a run, where there is none, before anything is trained.

    Args:
        folder: where the results go.
        own: names of the runs that belong together: NAME.run.json is the record of each.

    Raises:
        ValueError: if it cannot be made or written, or holds a run that is none of these.
    """
    refuse_others(folder, own)
    files.make_folder(folder)


def refuse_others(folder: Path, own: Collection[str]) -> None:
    """Refuse a folder with somebody else's run.

    Raises:
        ValueError: naming its record.
    """
    for about in sorted(folder.glob(f"*{RUN}")):
        if about.name.removesuffix(RUN) not in own:
            raise ValueError(
                f"{folder} holds another run, which wrote {about.name}: its files would be written over; choose "
                "another folder with --out"
            )
