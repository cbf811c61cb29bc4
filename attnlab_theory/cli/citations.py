"""Which claims cite a paper or a homework question. Papers have arXiv numbers and headings in docs/sources.md."""

import difflib
import re
from collections.abc import Iterable, Mapping

from attnlab_theory.claims.sources import cited, listed
from attnlab_theory.cli import library

NUMBER = re.compile(r"arxiv:\d{4}\.\d{4,5}", re.IGNORECASE)


def headings() -> dict[str, str]:
    """The heading in docs/sources.md of every name of a paper, in small letters: the heading itself, arxiv:NUMBER.

    Raises:
        ValueError: if the installation lacks the file.
    """
    path = library.root() / "docs" / "sources.md"
    if not path.is_file():
        raise ValueError(f"there is no {path}; install attnlab again")
    return {
        name.lower(): source.key
        for source in listed(path)
        for name in (source.key, *(f"arxiv:{number}" for number in source.numbers))
    }


def wanted(name: str, sources: Iterable[str]) -> str:
    """The heading or question that a name stands for.

    Args:
        name: arxiv:NUMBER, a heading of docs/sources.md in letters of either size, or what a claim cites.
        sources: of all claims.

    Raises:
        ValueError: if nothing is called so. The line names the nearest.
    """
    asked = re.sub(r"v\d+$", "", name.strip().lower()) if NUMBER.match(name.strip()) else name.strip().lower()
    known: Mapping[str, str] = {each.lower(): each for source in sources for each, _ in cited(source)} | headings()
    if asked in known:
        return known[asked]
    near = difflib.get_close_matches(asked, list(known), n=1, cutoff=0.4)
    hint = (
        f"did you mean {near[0] if near[0].startswith('arxiv:') else known[near[0]]}?"
        if near
        else "docs/sources.md lists the papers"
    )
    raise ValueError(f"no source is called {name!r}; {hint}")
