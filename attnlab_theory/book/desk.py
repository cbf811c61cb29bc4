"""The desk at which all pages are written: what is told of, the parts in HTML, and what goes beside the pages."""

import re
from pathlib import Path
from typing import Any

from attnlab_theory import inputs
from attnlab_theory.book import fragments
from attnlab_theory.book.catalogue import Catalogue, slug_of_stranger
from attnlab_theory.book.documents import Documents
from attnlab_theory.book.runs import Run
from attnlab_theory.exits import visible
from attnlab_theory.report.formulas import plain


class Desk:
    """What every page is written with.

    Args:
        catalogue: everything that is told of.
        documents: the repository's own.
        command: that makes the book.
    """

    def __init__(self, catalogue: Catalogue, documents: Documents, command: str) -> None:
        self.all, self.documents, self.command = catalogue, documents, command
        self.parts: Any = fragments.parts()
        self.figures: dict[str, Path] = {}
        """Figures of runs, by their paths in the book."""
        self.problems: list[str] = []
        """A line for each damaged file beside the findings of a lab. What it should show is left out."""
        self.data: dict[str, str] = {}
        """JSON of the book, by its path."""

    def figure(self, run: Run | None, name: str) -> tuple[str, str] | None:
        """The figure of a run: its path in the book and what it shows, in words."""
        path = None if run is None else run.file(f"{name}.svg")
        if path is None or run is None:
            return None
        # A document may show the committed figure, too: one file serves both.
        whole, root = path.resolve(), self.all.root.resolve()
        inside = whole.is_relative_to(root)
        place = whole.relative_to(root).as_posix() if inside else f"figures/{slug_of_stranger(str(path))}.svg"
        self.figures[place] = path
        return place, alternative_of(path)

    def listed(self, path: Path) -> list[dict[str, Any]]:
        """The objects that a file of JSON lists. A damaged file is noted."""
        try:
            value = inputs.json_of(path)
        except ValueError as error:
            self.problems.append(str(error))
            return []
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def alternative_of(path: Path) -> str:
    """What a figure shows, in words: the title that it was drawn with."""
    text = path.read_text("utf-8", "replace")
    groups = re.findall(r'^  <g id="text_\d+">\n(.*?)^  </g>', text, flags=re.MULTILINE | re.DOTALL)
    titles = [" ".join(re.findall("<!-- (.*?) -->", group)) for group in groups]
    shown = [title for title in titles if not title.startswith(("line: ", "interval: "))]
    return visible(plain(shown[0])) if shown else path.stem.replace("_", " ")
