"""The command that writes the book: report."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """Write the book: every claim, source and answer on pages that open from disk."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER ...]")] = ()
    """Folders with results. The first that has a run gives it, and what none has is shown as missing. By default
    the committed results."""
    out: Path = Path("lab/book")
    """The folder of the book. An earlier book in it is replaced, and nothing else."""

    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Write the book, and print its address."""
        from attnlab_theory.report import progress

        with progress.said("writing the book", quiet=self.json):
            from attnlab_theory.book import build
            from attnlab_theory.cli import library

            folders = self.folders or (library.root() / "figures",)
            labs = {**library.labs(), "heads": library.heads()}
            command = shlex.join(["attnlab", "report", *map(str, self.folders), "--out", str(self.out)])
            try:
                problems = build.write(self.out, folders, library.root(), library.experiments(), labs, command)
            except ImportError as error:
                raise ValueError(f"the book needs {error.name}: pip install 'attnlab[book]'") from None
        address = (self.out / "index.html").resolve().as_uri()
        if self.json:
            print(json.dumps({"address": address, "left_out": problems}, indent=1))
            return 1 if problems else 0
        for line in problems:
            print(f"left out: {line}", file=sys.stderr)
        print(address)
        return 1 if problems else 0
