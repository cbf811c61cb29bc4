"""A page for each submission, with its counterexamples. What a stranger wrote is shown as text; nothing runs."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from attnlab_theory import files
from attnlab_theory.exits import visible
from attnlab_theory.files import Form
from attnlab_theory.grader.classroom.gradebook import case, feedback, word
from attnlab_theory.grader.classroom.marks import Row
from attnlab_theory.grader.classroom.rubric import Rubric
from attnlab_theory.plurals import agree, several
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
        lines.append(f"<tr><td>{link}</td><td>{row.total_text}</td>{cells}</tr>")
    body = f"<table>\n<tr>{heads}</tr>\n" + "\n".join(lines) + f"\n</table>\n<p>Cases of seed {seed}.</p>"
    return document(f"{rubric.homework}: {several(len(rows), 'submission')}", body, Form.GRADES)


def page(row: Row, rubric: Rubric) -> str:
    """The page of one submission."""
    of = f"{rubric.total:g} {agree(rubric.total, 'point', 'points')}"
    parts = [f"<p>{f'{row.total_text} of ' if row.total_text else ''}{of}.{_left_open(row)}</p>"]
    if row.missing_fences:
        parts.append(f"<p>Judged without the fences {escaped(', '.join(row.missing_fences))}.</p>")
    if row.students:
        parts.append(f"<p>Handed in by {escaped(', '.join(map(str, row.students)))}{_when(row)}.</p>")
    if row.hand_in.instead_of:
        parts.append(f"<p>Judged instead of {escaped('; '.join(row.hand_in.instead_of))}.</p>")
    if row.copies:
        parts.append(f"<p>Exactly the same was handed in as {escaped('; '.join(row.copies))}.</p>")
    for part, worth in rubric.points.items():
        points = row.points(part)
        given = "by hand" if points is None else f"{points:g}"
        parts.append(f"<h2>{escaped(part)}: {escaped(word(row, part))} ({given} of {worth:g})</h2>")
        parts += _mark(row, part, rubric)
    return document(row.hand_in.name, "\n".join(parts), Form.GRADES)


def _when(row: Row) -> str:
    sender = row.hand_in.sender
    return f"{escaped(f' at {sender.time}') if sender.time else ''}{', late' if sender.late else ''}"


def _left_open(row: Row) -> str:
    return f" A person must decide {escaped(', '.join(row.left_open))}." if row.left_open else ""


def _mark(row: Row, part: str, rubric: Rubric) -> list[str]:
    mark = row.marks[part]
    shown = case(mark)
    lines = [f"<p>{escaped(line)}</p>" for line in feedback(mark)]
    if shown:
        cells = (f"<tr><th>{escaped(label)}</th><td>{escaped(text)}</td></tr>" for label, text in shown.items())
        lines.append(f"<table>{''.join(cells)}</table>")
        lines.append(f"<pre>{escaped(_again(row, part, rubric))}</pre>")
    if mark["judgement"] and (output := mark["judgement"]["output"]):
        lines.append(f"<details><summary>What it printed</summary><pre>{escaped(output)}</pre></details>")
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
    return shlex.join([*words, *own] if visible(answer, lines=False) == answer else words[-2:])
