"""What the book adds to Sphinx: formulas as MathML, a short navigation, and docstrings as they are."""

import functools
import gc
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import furo
from docutils import nodes
from docutils.utils import DependencyList
from markupsafe import escape
from myst_parser.mdit_to_docutils import base
from sphinx import addnodes
from sphinx.highlighting import PygmentsBridge
from sphinx.search.en import SearchEnglish
from sphinx.util import docutils

from attnlab_theory.book.formulas import of_sphinx


class English(SearchEnglish):
    """English words for the search. The same words come again and again, and stemming them is slow."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stems = functools.cache(super().stem)

    def stem(self, word: str) -> str:
        """The stem of a word. What has no letter, such as a number, is its own."""
        return self._stems(word) if LETTER.search(word) else word


LETTER = re.compile(r"[^\W\d_]")


def navigation(context: dict[str, Any]) -> str:
    """The parts of the book. Furo would write the list of all pages anew for each of hundreds of pages."""
    lines = []
    for name, title in context["parts_of_the_book"]:
        here = context["pagename"] == name or context["pagename"].startswith(f"{name.removesuffix('index')}/")
        mark = ' class="toctree-l1 current current-page"' if here else ' class="toctree-l1"'
        now = ' aria-current="page"' if context["pagename"] == name else ""
        way = context["pathto"](name)
        lines.append(f'<li{mark}><a class="reference internal" href="{way}"{now}>{escape(title)}</a></li>')
    return f"<ul>{''.join(lines)}</ul>"


def as_it_is(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Our docstrings are no reStructuredText: between bars is an absolute value."""
    if what in ("attribute", "data", "property") and lines:
        # What stands before a colon of a first line is no type.
        head, colon, rest = lines[0].partition(": ")
        lines[:1] = [head + colon.rstrip(), rest] if rest else lines[:1]
    in_doctest = False
    for at, line in enumerate(lines):
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        if not in_doctest:
            escaped = line.replace("|", "\\|").replace("**", "\\*\\*")
            lines[at] = re.sub(r"(?<!`)(`[^`]+`)(?=\w)", r"\1\\ ", escaped)


def with_short_names(app: Any, what: str, name: str, thing: Any, options: Any, given: str, returned: str) -> Any:
    """An array is called Array in a signature, as in the source code."""
    return tuple(text and text.replace("jaxlib._jax.Array", "Array") for text in (given, returned))


MOST_SHOWN = 200
"""A constant whose value is longer is shown without it: that of all claims has millions of letters."""


def shortened(app: Any, doctree: nodes.document) -> None:
    """Leave long values of constants out."""
    for node in doctree.findall(addnodes.desc_annotation):
        if len(node.astext()) > MOST_SHOWN:
            node.children = [nodes.Text(" = …")]


def nodes_below(node: nodes.Node, kind: type = nodes.Node) -> Iterator[nodes.Node]:
    """A node and all below it that are of a kind, in the order of the text.

    docutils asks this sixty times of each page, and has a generator for each node inside that of its parent.
    """
    left = [node]
    while left:
        at = left.pop()
        if isinstance(at, kind):
            yield at
        if at.children:
            left.extend(at.children[::-1])


def copied(settings_of: Callable[..., Any]) -> Callable[..., Any]:
    """The settings of docutils for some parsers, declared once and copied for each page."""
    kept: dict[Any, Any] = {}

    def settings(*components: Any, **named: Any) -> Any:
        key = tuple(each if isinstance(each, type) else type(each) for each in components)
        if key not in kept:
            kept[key] = settings_of(*components, **named)
        found = kept[key].copy()
        found.record_dependencies = DependencyList()
        return found

    return settings


def once_for_each(made: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose value an object keeps for the same arguments."""

    def value(self: Any, **named: Any) -> Any:
        kept, key = vars(self).setdefault("_kept", {}), repr(sorted(named.items()))
        if key not in kept:
            kept[key] = made(self, **named)
        return kept[key]

    return value


def make_once() -> None:
    """Have Sphinx and its parsers make once what they make again for each page. No page changes by it."""
    for place, name in ((docutils, "_get_settings"), (base, "get_default_settings")):
        setattr(place, name, copied(getattr(place, name)))
    PygmentsBridge.get_formatter = once_for_each(PygmentsBridge.get_formatter)
    for name in ("_fast_findall", "_superfast_findall"):
        setattr(nodes.Node, name, nodes_below)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx, which knows this file by the name in `conf.py`."""
    make_once()
    # Pages stay in memory until they are written. To look through them for cycles took a sixth of the time.
    gc.set_threshold(200_000, 50, 1000)
    # Nobody reads what is told of each event, and each told line was made.
    logging.getLogger("sphinx").setLevel(logging.WARNING)
    app.add_html_math_renderer("mathml", inline_renderers=of_sphinx(False), block_renderers=of_sphinx(True))
    app.add_search_language(English)
    app.add_config_value("html_parts", (), "html")
    app.connect("autodoc-process-docstring", as_it_is, priority=100)
    app.connect("autodoc-process-signature", with_short_names)
    app.connect("doctree-read", shortened)
    app.connect("html-page-context", _with_parts, priority=1)
    furo._compute_navigation_tree = navigation
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _with_parts(app: Any, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    titles = app.env.titles
    context["parts_of_the_book"] = [
        (name, titles[name].astext()) for name in app.config.html_parts if name in titles
    ]
