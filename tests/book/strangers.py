"""The pages that tell of somebody's own run, without Sphinx."""

import re
from pathlib import Path

from markdown_it import MarkdownIt

from attnlab_theory.book import pages, runs
from attnlab_theory.book.catalogue import Catalogue
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.documents import Documents

ROOT = Path(__file__).parents[2]
PART = re.compile(r"^```\{raw\} html\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def pages_of(folder: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The pages as Markdown, by their paths, and what the book says of damaged files."""
    found = runs.read([folder], [], [])
    catalogue = Catalogue(ROOT, (), {}, found)
    desk = Desk(catalogue, Documents(ROOT, {}.get), "attnlab report")
    return dict(pages.of_findings(desk)), found.problems


def html_of(page: str) -> str:
    """A page as HTML: its own parts in HTML, and the rest of it as Markdown says."""
    page = page.removeprefix("---\norphan: true\n---\n")
    return "".join(PART.findall(page)) + MarkdownIt("commonmark", {"html": True}).render(PART.sub("", page))
