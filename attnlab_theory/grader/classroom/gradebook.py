"""The grades of a class as CSV, as JSON and as a table."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnlab_theory.exits import visible
from attnlab_theory.grader.classroom.marks import Attendance, Mark, Row
from attnlab_theory.grader.classroom.rubric import Rubric
from attnlab_theory.grader.classroom.senders import Student
from attnlab_theory.grader.contracts.frames import numbers
from attnlab_theory.plurals import agree, several

FORMULA = "=+-@\t\r＝＋－＠"
"""The characters that a spreadsheet takes for the beginning of a formula."""

MOST_SHOWN = 2000
"""The most letters of one value that are shown."""

PRESENT = Attendance()
"""Where no roster was named, nobody is missing."""
BEGINS = re.compile(rf"(^|[;|])(?=\s*[{re.escape(FORMULA)}])")
"""Where a cell begins with a formula. In some countries sheets split lines at semicolons."""

STYLES = {"right": "green", "by hand": "yellow"}


NOTHING = "nothing handed in"
"""The reason of a mark of somebody who is missing."""


def csv_text(rows: Sequence[Row], rubric: Rubric, attendance: Attendance = PRESENT) -> str:
    """A line of headings, and a line for each submission and each missing student.

    A question that a person must decide gets no points, and neither does who has handed in nothing.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    each = [heading for part in rubric.points for heading in (f"{part} points", f"{part} reason")]
    sent = ["student id", "student", "late", "submitted", "instead of"]
    writer.writerow(["submission", "points", "of", "by hand", *each, "fences missing", "same as", "page", *sent])
    for row in rows:
        marks: list[Any] = []
        for part in rubric.points:
            points = row.points(part)
            marks += ["" if points is None else f"{points:g}", safe(word(row, part))]
        writer.writerow(
            [
                *(safe(row.hand_in.name), row.total_text, f"{rubric.total:g}", " ".join(row.left_open), *marks),
                *(" ".join(row.missing_fences), safe("; ".join(row.copies)), row.hand_in.page),
                *_students(row.students),
                *("late" if row.hand_in.sender.late else "", safe(row.hand_in.sender.time)),
                safe("; ".join(row.hand_in.instead_of)),
            ]
        )
    for student in attendance.missing:
        marks = ["", NOTHING] * len(rubric.points)
        whole = ["", "", f"{rubric.total:g}", " ".join(rubric.points)]
        writer.writerow([*whole, *marks, "", "", "", *_students([student]), "", "", ""])
    return text.getvalue()


def _students(students: Sequence[Student]) -> tuple[str, str]:
    """Their ids and their names, as two cells."""
    return safe("; ".join(each.id for each in students)), safe("; ".join(each.name for each in students))


def safe(text: str) -> str:
    """A stranger's text in which no spreadsheet finds a formula, wherever it splits lines."""
    return visible(BEGINS.sub(r"\1'", text), lines=False)


def word(row: Row, part: str) -> str:
    """The reason of a mark in a few words."""
    mark = row.marks[part]
    return f"by hand: {mark['reason']}" if mark["by_hand"] else mark["reason"]


def as_json(rows: Sequence[Row], rubric: Rubric, seed: int, attendance: Attendance = PRESENT) -> dict[str, Any]:
    """The grades as plain values: the rubric, the seed of the cases, all marks, who is missing."""
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
                "students": [{"id": each.id, "name": each.name} for each in row.students],
                "late": row.hand_in.sender.late,
                "submitted": row.hand_in.sender.time or None,
                "instead_of": list(row.hand_in.instead_of),
                "page": row.hand_in.page,
                "questions": {
                    part: {"points": row.points(part), "of": rubric.points[part], **row.marks[part]}
                    for part in rubric.points
                },
            }
            for row in rows
        ],
        "missing": [{"id": each.id, "name": each.name} for each in attendance.missing],
        "unknown": list(attendance.unknown),
    }


def for_gradescope(row: Row) -> dict[str, Any]:
    """One submission as Gradescope's autograder wants it in its results.json.

    A question that a person must decide has no score: Gradescope leaves it out of the sum.
    """
    tests = []
    for part, worth in row.rubric.points.items():
        points = row.points(part)
        test = {"name": f"{part}: {word(row, part)}", "number": part, "max_score": worth, "visibility": "visible"}
        told = [
            *feedback(row.marks[part]),
            *(f"  {label}: {text}" for label, text in case(row.marks[part]).items()),
        ]
        scored = {} if points is None else {"score": points, "status": "passed" if points == worth else "failed"}
        tests.append(test | scored | {"output": "\n".join(told), "output_format": "text"})
    left = f"A person must decide {', '.join(row.left_open)}." if row.left_open else ""
    return {"output_format": "text", "stdout_visibility": "hidden", "output": left, "tests": tests}


def feedback(mark: Mark) -> list[str]:
    """What a student reads of a mark: what was asked and expected, what is wrong, and what to do."""
    judged: dict[str, Any] | None = mark["judgement"]
    lines = [mark["said"]] if mark["said"] else []
    if judged is None:
        return lines
    if judged["reason"] != "right":
        lines += [f"Question: {judged['asks']}", f"Expected: {judged['expected']}"]
        lines += [f"Does not hold: {judged['failed']}"] if judged["failed"] else []
    allowed = f"{judged['tolerance']:g} {judged['unit']} is allowed; {several(judged['cases'], 'case')}"
    if judged["error"] is not None:
        lines.append(f"Off by {judged['error']:.6g}; {allowed}.")
    elif judged["worst"] is not None and not judged["case"]:
        lines.append(f"Largest error {judged['worst']:.2g}; {allowed}.")
    lines += [f"Hint: {judged['hint']}"] if judged["hint"] else []
    return [*lines, *judged["notes"]]


def case(mark: Mark) -> dict[str, str]:
    """The case at which an answer is wrong, for a person to read; empty if there is none."""
    found = (mark["judgement"] or {}).get("case")
    if not found:
        return {}
    answer = {f"answer {name}": numbers(np.array(x, dtype=float)) for name, x in found["answer"].items()}
    texts = {**found["shown"], **answer}
    return {label: text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…" for label, text in texts.items()}


def _several_rows(rows: Sequence[Row]) -> dict[Student, list[str]]:
    """The students who stand in several rows, because no name of a file says which is later."""
    found: dict[Student, list[str]] = {}
    for row in rows:
        for student in row.students:
            found.setdefault(student, []).append(row.hand_in.name)
    return {student: names for student, names in found.items() if len(names) > 1}


def table(rows: Sequence[Row], rubric: Rubric, seed: int, attendance: Attendance = PRESENT) -> RenderableType:
    """The grades for a terminal. Fences that do not stand come first."""
    grades = Table(box=None, pad_edge=False)
    grades.add_column("submission", overflow="fold")
    grades.add_column("points", justify="right", no_wrap=True)
    for part in rubric.points:
        grades.add_column(part, overflow="fold")
    for row in rows:
        words = (word(row, part) for part in rubric.points)
        cells = [Text(each, STYLES.get(each.split(":")[0], "red")) for each in words]
        mark = "*" if row.missing_fences else ""
        grades.add_row(Text(row.hand_in.name + mark), row.total_text, *cells)
    lines: list[RenderableType] = [grades]
    missing = dict.fromkeys(name for row in rows for name in row.missing_fences)
    if missing:
        lines.insert(0, Text(f"* judged without the fences {', '.join(missing)}; docs/grading.md says what to do"))
    left = sum(len(row.left_open) for row in rows)
    for row in rows:
        if row.hand_in.instead_of:
            lines.append(Text(f"{row.hand_in.name} is judged instead of {', '.join(row.hand_in.instead_of)}"))
    for student, names in _several_rows(rows).items():
        told = visible(str(student), lines=False)
        lines.append(Text(f"{told} has {len(names)} rows: {', '.join(names)}; move away what does not count"))
    if attendance.missing:
        absent = ", ".join(visible(str(student), lines=False) for student in attendance.missing)
        lines.append(Text(f"missing: {absent}"))
    if attendance.unknown:
        lines.append(Text(f"of nobody in the roster: {', '.join(attendance.unknown)}"))
    count = f"{several(len(rows), 'submission')} of {rubric.total:g} {agree(rubric.total, 'point', 'points')}"
    count += f"; {several(left, 'mark')} by hand" if left else ""
    lines.append(Text(f"{count}; cases of --seed {seed}"))
    return Group(*lines)
