"""Formulas as MathML, which a browser draws without a script."""

import functools
import html
import re
from typing import Any
from xml.etree import ElementTree

import latex2mathml.converter
from markupsafe import Markup, escape

from attnlab_theory.exits import visible

OF_PAGES = ("href", "style", "class", "xmlns")
"""What in a formula could change the page around it, and the name space that HTML knows by itself."""


def with_mathml(text: str) -> Markup:
    """A sentence with its $formulas$ as MathML. Everything else is escaped."""
    parts = re.split(r"\$([^$]+)\$", visible(text))
    return Markup("").join(mathml(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def mathml(source: str, *, block: bool = False) -> Markup:
    """A formula as MathML, in which all text is escaped; its source where it is broken.

    Args:
        source: LaTeX, without dollars.
        block: whether it stands on a line of its own.
    """
    tree = _tree(source, block)
    return escape(f"${source}$") if tree is None else Markup(tree)


@functools.cache
def _tree(source: str, block: bool) -> str | None:
    try:
        tree: Any = latex2mathml.converter.convert_to_element(source, display="block" if block else "inline")
    except Exception:  # each mistake has a class of its own there, without a common one
        return None
    for element in tree.iter():
        # Symbols come as references to characters; `convert` writes them, and whatever a text holds, unescaped.
        element.text, element.tail = (visible(html.unescape(words or "")) for words in (element.text, element.tail))
        for name in OF_PAGES:
            element.attrib.pop(name, None)
    return ElementTree.tostring(tree, encoding="unicode")


def of_sphinx(block: bool) -> Any:
    """The function by which Sphinx writes a formula of a document."""

    def visit(writer: Any, node: Any) -> None:
        from docutils import nodes

        formula = mathml(node.astext(), block=block)
        writer.body.append(f'<div class="formula" tabindex="0">{formula}</div>' if block else formula)
        raise nodes.SkipNode

    return visit, None
