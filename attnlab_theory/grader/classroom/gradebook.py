"""The grades of a class as CSV, as JSON and as a table."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnlab_theory.grader.classroom.marks import Row
from attnlab_theory.grader.classroom.rubric import Rubric

FORMULA = "=+-@\t\r＝＋－＠"
"""The characters that a spreadsheet takes for the beginning of a formula."""

STYLES = {"right": "green", "by hand": "yellow"}


def csv_text(rows: Sequence[Row], rubric: Rubric) -> str:
    """A line of headings, and a line for each submission. A question that a person must decide gets no points."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    each = [heading for part in rubric.points for heading in (f"{part} points", f"{part} reason")]
    writer.writerow(["submission", "points", "of", "by hand", *each, "fences missing", "same as", "page"])
    for row in rows:
        marks: list[Any] = []
        for part in rubric.points:
            points = row.points(part)
            marks += ["" if points is None else f"{points:g}", safe(word(row, part))]
        writer.writerow(
            [
                *(safe(row.hand_in.name), f"{row.total:g}", f"{rubric.total:g}", " ".join(row.left_open), *marks),
                *(" ".join(row.missing_fences), safe("; ".join(row.copies)), row.hand_in.page),
            ]
        )
    return text.getvalue()


def safe(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.lstrip(" ")[:1] in tuple(FORMULA) else text


def word(row: Row, part: str) -> str:
    """The reason of a mark in a few words."""
    mark = row.marks[part]
    return f"by hand: {mark['reason']}" if mark["by_hand"] else mark["reason"]


def as_json(rows: Sequence[Row], rubric: Rubric, seed: int) -> dict[str, Any]:
    """The grades as plain values: the rubric, the seed of the cases, and every submission with its marks."""
    return {
        "rubric": rubric.homework,
        "seed": seed,
        "points": rubric.points,
        "submissions": [
            {
                "submission": row.hand_in.name,
                "content": row.hand_in.content or None,
                "points": row.total,
                "by_hand": row.left_open,
                "fences": row.missing_fences,
                "same_as": list(row.copies),
                "page": row.hand_in.page,
                "questions": {
                    part: {"points": row.points(part), "of": rubric.points[part], **row.marks[part]}
                    for part in rubric.points
                },
            }
            for row in rows
        ],
    }


def table(rows: Sequence[Row], rubric: Rubric, seed: int) -> RenderableType:
    """The grades for a terminal. Fences that do not stand come first."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("submission", overflow="fold")
    shown.add_column("points", justify="right", no_wrap=True)
    for part in rubric.points:
        shown.add_column(part, overflow="fold")
    for row in rows:
        words = (word(row, part) for part in rubric.points)
        cells = [Text(each, STYLES.get(each.split(":")[0], "red")) for each in words]
        mark = "*" if row.missing_fences else ""
        shown.add_row(Text(row.hand_in.name + mark), f"{row.total:g}", *cells)
    lines: list[RenderableType] = [shown]
    missing = dict.fromkeys(name for row in rows for name in row.missing_fences)
    if missing:
        lines.insert(0, Text(f"* judged without the fences {', '.join(missing)}; docs/grading.md says what to do"))
    left = sum(len(row.left_open) for row in rows)
    count = f"{len(rows)} submission{'' if len(rows) == 1 else 's'} of {rubric.total:g} points"
    count += f"; {left} mark{'' if left == 1 else 's'} by hand" if left else ""
    lines.append(Text(f"{count}; cases of --seed {seed}"))
    return Group(*lines)
