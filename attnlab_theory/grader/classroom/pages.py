"""A page for each submission, with its counterexamples. What a stranger wrote is shown as text; nothing runs."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnlab_theory import files
from attnlab_theory.grader.classroom.gradebook import word
from attnlab_theory.grader.classroom.marks import Row
from attnlab_theory.grader.classroom.rubric import Rubric
from attnlab_theory.report.webpage import document, escaped


def write_pages(folder: Path, rows: Sequence[Row], rubric: Rubric, seed: int) -> None:
    """Write index.html and a page for each submission into a folder.

    Raises:
        OSError: if they cannot be written.
    """
    for row in rows:
        files.write_text(folder / row.hand_in.page, page(row, rubric))
    files.write_text(folder / "index.html", index(rows, rubric, seed))


def index(rows: Sequence[Row], rubric: Rubric, seed: int) -> str:
    """The table of all submissions, and the seed of the cases that they got."""
    heads = "".join(f"<th>{escaped(heading)}</th>" for heading in ("submission", "points", *rubric.points))
    lines = []
    for row in rows:
        cells = "".join(f"<td>{escaped(word(row, part))}</td>" for part in rubric.points)
        link = f'<a href="{row.hand_in.page}">{escaped(row.hand_in.name)}</a>'
        lines.append(f"<tr><td>{link}</td><td>{row.total:g}</td>{cells}</tr>")
    body = f"<table>\n<tr>{heads}</tr>\n" + "\n".join(lines) + f"\n</table>\n<p>Cases of seed {seed}.</p>"
    return document(f"{rubric.homework}: {len(rows)} submissions", body)


def page(row: Row, rubric: Rubric) -> str:
    """The page of one submission."""
    parts = [f"<p>{row.total:g} of {rubric.total:g} points.{_left_open(row)}</p>"]
    if row.missing_fences:
        parts.append(f"<p>Judged without the fences {escaped(', '.join(row.missing_fences))}.</p>")
    if row.copies:
        parts.append(f"<p>Exactly the same was handed in as {escaped('; '.join(row.copies))}.</p>")
    for part, worth in rubric.points.items():
        points = row.points(part)
        given = "by hand" if points is None else f"{points:g}"
        parts.append(f"<h2>{escaped(part)}: {escaped(word(row, part))} ({given} of {worth:g})</h2>")
        parts += _mark(row, part, rubric)
    return document(row.hand_in.name, "\n".join(parts))


def _left_open(row: Row) -> str:
    return f" A person must decide {escaped(', '.join(row.left_open))}." if row.left_open else ""


def _mark(row: Row, part: str, rubric: Rubric) -> list[str]:
    mark = row.marks[part]
    judged: dict[str, Any] | None = mark["judgement"]
    lines = [f"<p>{escaped(mark['said'])}</p>"] if mark["said"] else []
    if judged is None:
        return lines
    if judged["reason"] != "right":
        lines.append(f"<p>Question: {escaped(judged['asks'])}</p>")
        lines.append(f"<p>Expected: {escaped(judged['expected'])}</p>")
        lines += [f"<p>Does not hold: {escaped(judged['failed'])}</p>"] if judged["failed"] else []
        lines += [f"<p><strong>Hint: {escaped(judged['hint'])}</strong></p>"] if judged["hint"] else []
    allowed = f"{judged['tolerance']:g} {judged['unit']} is allowed; {judged['cases']} cases"
    if judged["error"] is not None:
        lines.append(f"<p>Off by {judged['error']:.6g}; {escaped(allowed)}.</p>")
    elif judged["worst"] is not None and not judged["case"]:
        lines.append(f"<p>Largest error {judged['worst']:.2g}; {escaped(allowed)}.</p>")
    lines += [f"<p>{escaped(note)}</p>" for note in judged["notes"]]
    if judged["case"]:
        shown = {**judged["case"]["shown"], **{f"answer {k}": v for k, v in judged["case"]["answer"].items()}}
        cells = (
            f"<tr><th>{escaped(label)}</th><td>{escaped(_short(value))}</td></tr>" for label, value in shown.items()
        )
        lines.append(f"<table>{''.join(cells)}</table>")
        lines.append(f"<pre>{escaped(_again(row, part, rubric))}</pre>")
    if judged["output"]:
        lines.append(f"<details><summary>What it printed</summary><pre>{escaped(judged['output'])}</pre></details>")
    return lines


def _again(row: Row, part: str, rubric: Rubric) -> str:
    """The command that tries the case alone, in the folder of whoever has handed it in."""
    judged = row.marks[part]["judgement"]
    file, _, function = judged["answer"].rpartition("::")
    case = json.dumps(judged["case"]["replay"], separators=(",", ":"))
    answer = f"{file or row.hand_in.path.name}::{function}"
    words = ["attnlab", "check", answer, "--question", rubric.question(part), "--replay", case]
    is_own = any(each.id == part for each in rubric.written.questions) and rubric.written.path
    own = ["--homework", Path(rubric.written.path).name] if is_own else []
    # A name that a shell would not take as it is shown: the case is enough.
    return shlex.join([*words, *own]) if answer.isprintable() else f"--replay {shlex.quote(case)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 2000 else text[:2000] + "…"
