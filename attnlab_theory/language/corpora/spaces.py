"""Texts in languages without spaces between words. If they are read by words, every line is one word."""

import re
from collections.abc import Sequence

from attnlab_theory.plurals import agree, some_of

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]{5,}"
)
"""Five letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese or Chinese in a row: too many for one word."""

LONGEST = 40
"""The most letters of a token that may be a word in a text with spaces."""


def unspaced(lines: Sequence[str]) -> int:
    """How many lines look like several words without spaces between them."""
    return sum(any(UNSPACED.search(word) or len(word) > LONGEST for word in line.split()) for line in lines)


def remark(lines: Sequence[str], source: str, remedy: str) -> str | None:
    """A line about texts of which at least half have no spaces between words. None if most have spaces.

    Args:
        lines: at least one.
        source: the name of the lines in the message.
        remedy: an option that helps.
    """
    found = unspaced(lines)
    if not found or 2 * found < len(lines):
        return None
    one = sum(len(line.split()) == 1 for line in lines)
    have = some_of(found, len(lines), "line", "has", "have")
    each = agree(one, "is one token", "are one token each")
    return f"{source}: {have} no spaces between words, {one} {each}; {remedy}"


def refuse_unspaced(lines: Sequence[str], source: str, remedy: str) -> None:
    """Refuse to read lines by words if they have no spaces: nearly all words would be unknown.

    Args:
        lines: at least one.
        source: the name of the lines in the message.
        remedy: an option that helps.

    Raises:
        ValueError: if at least half of the lines have no spaces between words.
    """
    said = remark(lines, source, remedy)
    if said is not None:
        raise ValueError(said)
