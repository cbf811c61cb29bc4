"""Parts of a page in Markdown, in which words, code and HTML stay what they are."""

import re
from collections.abc import Sequence

from attnlab_theory.exits import visible


def page(title: str, *parts: str, orphan: bool = False) -> str:
    """A page of Markdown.

    Args:
        title: as text.
        parts: Markdown.
        orphan: whether no list of pages names it.
    """
    head = "---\norphan: true\n---\n" if orphan else ""
    return f"{head}# {words(title)}\n\n" + "\n\n".join(part for part in parts if part) + "\n"


def words(text: str) -> str:
    """A text as Markdown that means nothing but these words."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(visible(text).split()))


def raw(html: str) -> str:
    """HTML as a part of a page. Nothing in it can end the part."""
    return f"```{{raw}} html\n{str(html).strip().replace('`', '&#96;')}\n```"


def fenced(text: str, language: str = "") -> str:
    """Lines of code."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language or 'text'}\n{visible(text)}\n{fence}"


def code_of(text: str) -> str:
    """Words in the letters of code."""
    return f"`` {' '.join(visible(text).split()).replace('`', ' ')} ``"


def toctree(names: Sequence[str], *, hidden: bool = False) -> str:
    """The list of pages by which Sphinx knows its parts."""
    listed = "\n".join(name.removesuffix(".md") for name in names)
    return f"```{{toctree}}\n:maxdepth: 1\n{':hidden:' if hidden else ''}\n\n{listed}\n```"
