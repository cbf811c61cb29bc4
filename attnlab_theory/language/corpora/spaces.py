"""Texts whose language puts no spaces between words, read as if it did: every line is a word then."""

import re
from collections.abc import Sequence

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]{5,}"
)
"""Five letters in a row of Thai, Lao, Tibetan, Burmese, Khmer, Japanese or Chinese: too many for one word."""

LONGEST = 40
"""Letters of the longest token that may be a word where words stand apart."""


def unspaced(lines: Sequence[str]) -> int:
    """How many of the lines hold what looks like several words without spaces between them."""
    return sum(any(UNSPACED.search(word) or len(word) > LONGEST for word in line.split()) for line in lines)


def remark(lines: Sequence[str], source: str, remedy: str) -> str | None:
    """What to say of lines half of which have no spaces between words; None where most have them.

    Args:
        lines: at least one.
        source: what a complaint calls them.
        remedy: an option that helps.
    """
    found = unspaced(lines)
    if not found or 2 * found < len(lines):
        return None
    one = sum(len(line.split()) == 1 for line in lines)
    return (
        f"{source}: {found} of {len(lines)} lines have no spaces between words, {one} are one token each; {remedy}"
    )


def refuse_unspaced(lines: Sequence[str], source: str, remedy: str) -> None:
    """Refuse to read lines by words that have none: nearly all of them would be unknown; args as `remark`.

    Raises:
        ValueError: where `remark` says something.
    """
    said = remark(lines, source, remedy)
    if said is not None:
        raise ValueError(said)
