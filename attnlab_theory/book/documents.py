"""The repository's own documents as pages: their links lead to pages of the book, wherever a text is shown."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
"""Documents outside of `docs`."""

PACKAGE = Path(__file__).parents[1]

PAGES_OF_RUNS = "figures/**/README.md"
"""The pages that runs have written."""

FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINK_OR_NAME = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|(?<!`)`([a-z0-9][\w/-]*-[\w/-]*)`(?!`)")
"""A link or an image; or the name of a claim, which becomes a link."""


class Documents:
    """The documents below a folder.

    Args:
        root: the folder that has `docs` and `figures`.
        page_of: the page of a claim, by its name; None for what is no claim.
    """

    def __init__(self, root: Path, page_of: Callable[[str], str | None]) -> None:
        self._root, self._page_of = root, page_of
        self.names = tuple(self._found())
        self.files: dict[str, Path] = {}
        """Files that pages link to or show, by their paths in the book. They go into it as they are."""

    def _found(self) -> Iterable[str]:
        paths = [*sorted((self._root / "docs").rglob("*.md")), *(self._root / name for name in TOP)]
        paths += sorted(self._root.glob(PAGES_OF_RUNS))
        return (path.relative_to(self._root).as_posix() for path in paths if path.is_file())

    def text(self, name: str) -> str:
        """A document for its own page."""
        return self.moved((self._root / name).read_text("utf-8"), name, name)

    def moved(self, text: str, name: str, page: str) -> str:
        """Some text of a document, for a page of the book.

        Args:
            text: Markdown.
            name: of the document; links are told from its folder.
            page: of the page, as a path in the book.
        """
        parts, at = [], 0
        for fence in FENCE.finditer(text):
            parts += [self._linked(text[at : fence.start()], name, page), fence[0]]
            at = fence.end()
        return "".join([*parts, self._linked(text[at:], name, page)])

    def _linked(self, text: str, name: str, page: str) -> str:
        return LINK_OR_NAME.sub(lambda match: self._link(match, name, page), text)

    def _link(self, match: re.Match[str], document: str, page: str) -> str:
        mark, words, target, claim = match.groups()
        here, there = PurePosixPath(document).parent, PurePosixPath(page).parent
        if claim:
            found = self._page_of(claim)
            return f"[`{claim}`]({_way(f'claims/{found}.md', there)})" if found else match[0]
        if target.startswith(("http://", "https://", "mailto:")):
            return match[0]
        path, _, anchor = target.partition("#")
        name = os.path.normpath(here / path) if path else document
        if name == page and not path:
            return match[0]
        inside = name.startswith("attnlab_theory/")
        place = PACKAGE.parent / name if inside else self._root / name
        if place.suffix == ".png" and place.with_suffix(".svg").is_file():
            name, place = name[:-4] + ".svg", place.with_suffix(".svg")
        if (place / "README.md").is_file():
            name, place = f"{name}/README.md", place / "README.md"
        if name in self.names:
            return f"[{words}]({_way(name, there)}{'#' + anchor if anchor else ''})"
        if name == "docs/mathematics":
            return f"[{words}]({_way('mathematics.md', there)})"
        if not place.is_file():
            return words  # a checkout has it, and the book does not
        self.files[name] = place
        if mark:
            return f'<img class="figure" src="{_way(name, there)}" alt="{_plain(words)}">'
        return f'<a href="{_way(name, there)}">{words}</a>'


def _way(name: str, there: PurePosixPath) -> str:
    return os.path.relpath(name, there)


def _plain(words: str) -> str:
    return re.sub(r"[`*\"<>&]", "", words)
