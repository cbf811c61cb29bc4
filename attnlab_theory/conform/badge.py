"""A badge for a README: a small picture of a kind and of what became of its promise."""

import datetime
import xml.etree.ElementTree as xml
from collections.abc import Collection

from attnlab_theory import __version__
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.suite import Row

HEIGHT, LETTER, MARGIN = 20, 5.9, 7
"""In pixels. Every text is stretched to so much for a letter, whatever font a reader has."""

COLOURS = {Verdict.HOLDS: "#1b7f3b", Verdict.FAILS: "#b3261e", Verdict.NOT_JUDGED: "#6b5900"}
"""Dark enough for white letters."""


def verdict_of(rows: Collection[Row], code: int) -> Verdict:
    """What becomes of a kind: it fails with one of its rows, and holds only if all of them are judged.

    Args:
        rows: all that were tried.
        code: the exit code, which is 0 if nothing is held against the target.
    """
    found = {row.verdict for row in rows}
    if Verdict.FAILS in found:
        return Verdict.FAILS
    return Verdict.HOLDS if rows and not code and Verdict.NOT_JUDGED not in found else Verdict.NOT_JUDGED


def words(kind: str, rows: Collection[Row], code: int) -> tuple[str, str]:
    """The two texts of the badge: whose word it is, and the word."""
    verdict = verdict_of(rows, code)
    said = {
        Verdict.HOLDS: "holds",
        Verdict.FAILS: f"fails {sum(row.verdict is Verdict.FAILS for row in rows)} of {len(rows)}",
        Verdict.NOT_JUDGED: "not judged as a whole",
    }
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{kind} · attnlab {__version__}", f"{said[verdict]} · {day}"


def svg(kind: str, rows: Collection[Row], code: int) -> str:
    """The picture, with its words as text for those who do not see it."""
    left, right = words(kind, rows, code)
    first, second = (round(LETTER * len(text) + 2 * MARGIN) for text in (left, right))
    label = f"{left}: {right}"
    size = {"width": str(first + second), "height": str(HEIGHT)}
    root = xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **size, "aria-label": label})
    xml.SubElement(root, "title").text = label
    for text, begin, width, colour in (
        (left, 0, first, "#444444"),
        (right, first, second, COLOURS[verdict_of(rows, code)]),
    ):
        place = {"x": str(begin), "y": "0", "width": str(width), "height": str(HEIGHT)}
        xml.SubElement(root, "rect", place, fill=colour)
        style = {"fill": "#ffffff", "font-family": "Verdana, DejaVu Sans, sans-serif", "font-size": "11"}
        inside = {"textLength": str(width - 2 * MARGIN), "lengthAdjust": "spacingAndGlyphs"}
        xml.SubElement(root, "text", {"x": str(begin + MARGIN), "y": "14"} | style | inside).text = text
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"


def line(path: str, kind: str, rows: Collection[Row], code: int) -> str:
    """What to paste into a README, for a picture at this place."""
    left, right = words(kind, rows, code)
    # A space or a bracket would end the place.
    return f"![{left}: {right}](<{path}>)" if set(path) & set(" ()") else f"![{left}: {right}]({path})"
