"""Who has handed in what, and when: as Canvas, Moodle and Gradescope write it into names and metadata.

| from | names |
|---|---|
| Canvas | `lastfirst_12345_67890_hw.py`, with `_LATE_` after the name, and `hw-1.py` for the next attempt |
| Moodle | `First Last_12345_assignsubmission_file_`, a folder, or with the name of a file after it |
| Gradescope | folders `submission_123456` beside `submission_metadata.yml` |

`--roster` is a CSV file of any of them: the gradebook of Canvas, the grading worksheet of Moodle, the roster of
Gradescope, or one with a column `id`.
"""

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attnlab_theory import inputs

METADATA = "submission_metadata.yml"
"""Gradescope's file about the folders beside it."""

CANVAS = re.compile(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d{2,})_(?P<order>\d{2,})_(?P<file>.+)", re.IGNORECASE | re.DOTALL
)
MOODLE = re.compile(
    r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<file>.*))?", re.DOTALL
)
ATTEMPT = re.compile(r"-\d+(?=\.\w+$|$)")
"""What Canvas adds to the name of a file that is handed in again."""

IDS = (
    "id",
    "student id",
    "sid",
    "identifier",
    "id number",
    "sis user id",
    "sis login id",
    "email",
    "email address",
)
"""Headings of a roster, in small letters. What stands below any of them may name a student."""
NAMES = ("name", "student", "full name", "student name", "first name", "last name", "surname")

MOST_ROSTER = 2**24


@dataclasses.dataclass(frozen=True, kw_only=True)
class Student:
    """One student, as a system for courses names them."""

    id: str
    name: str = ""
    also: tuple[str, ...] = ()
    """Other ids of the same student, such as an address."""

    @property
    def ids(self) -> set[str]:
        """All ids, in small letters."""
        return {each.lower() for each in (self.id, *self.also) if each}

    def __str__(self) -> str:
        return f"{self.name} ({self.id})" if self.name else self.id


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sender:
    """Who has handed in one entry, and when."""

    students: tuple[Student, ...] = ()
    """None if the name does not say; several if a group has handed in together."""
    late: bool = False
    time: str = ""
    """As Gradescope writes it. Empty if nothing says it."""
    order: int = 0
    """The later of two entries has the greater number, or the later time."""
    file: str = ""
    """The name of the file before the system renamed it. Empty for a folder."""
    is_text: bool = False
    """Whether it is text that was typed into a form, beside a file."""

    @property
    def key(self) -> tuple[str, ...]:
        """What two entries of the same senders share."""
        return tuple(sorted(student.id for student in self.students))

    @property
    def version(self) -> str:
        """The name of the file without the number of the attempt. A file that is handed in again has the same."""
        return ATTEMPT.sub("", self.file).lower()


NOBODY = Sender()
"""The sender of an entry whose name says nothing."""


def sender_of(name: str, metadata: Mapping[str, Sender]) -> Sender:
    """What the name of an entry says.

    Args:
        name: of a file or a folder.
        metadata: of Gradescope, by the names of folders.
    """
    if name in metadata:
        return metadata[name]
    if found := MOODLE.fullmatch(name):
        student = Student(id=found["id"], name=found["name"])
        return Sender(students=(student,), file=found["file"] or "", is_text=found["kind"] == "onlinetext")
    if found := CANVAS.fullmatch(name):
        student = Student(id=found["id"], name=found["name"])
        order = int(found["order"][:18])
        return Sender(students=(student,), late=bool(found["late"]), order=order, file=found["file"])
    return Sender()


def metadata_of(folder: Path) -> dict[str, Sender]:
    """What Gradescope's export says of its folders; nothing if there is no such file.

    It is the YAML that Gradescope writes: of other YAML only the same lines are understood.

    Raises:
        ValueError: if the file cannot be read, or says nothing.
    """
    path = folder / METADATA
    if not path.is_file():
        return {}
    try:
        lines = inputs.content(path, most=MOST_ROSTER).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error}; export the submissions again") from None
    found: dict[str, Sender] = {}
    people: list[dict[str, str]] = []
    now = section = ""
    for line in lines:
        if head := re.fullmatch(r"[\"']?(\w[^:]*?)[\"']?:\s*", line):
            now, section, people = head[1], "", []
            found[now] = Sender()
        elif now and (part := re.fullmatch(r"  :(\w+):(.*)", line)):
            section = part[1]
            if section == "created_at":
                found[now] = dataclasses.replace(found[now], time=_scalar(part[2]))
        elif section == "submitters" and (field := re.fullmatch(r"\s+(- )?:(\w+):(.*)", line)):
            if field[1]:
                people.append({})
            people[-1][field[2]] = _scalar(field[3])
            found[now] = dataclasses.replace(found[now], students=tuple(filter(None, map(_submitter, people))))
    if not found:
        raise ValueError(f"{path} names no submission; export the submissions again, or move the file away")
    return found


def _submitter(fields: Mapping[str, str]) -> Student | None:
    sid, email = fields.get("sid", ""), fields.get("email", "")
    also = (email,) if sid and email else ()
    return Student(id=sid or email, name=fields.get("name", ""), also=also) if sid or email else None


def _scalar(text: str) -> str:
    """The value of a line of YAML."""
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return "" if text in ("~", "null", "''", '""') else text[1:-1].replace("''", "'") if quoted else text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roster:
    """The students of a class."""

    students: tuple[Student, ...]

    def named(self, name: str, sender: Sender) -> tuple[Student, ...]:
        """The students of the roster who have handed in an entry.

        Args:
            name: of the entry. Where it does not say who, a word of it may be an id.
            sender: what it says.
        """
        asked = {each for student in sender.students for each in student.ids}
        if not sender.students:
            asked = {name.lower(), Path(name).stem.lower(), *re.split(r"[\s_.()-]+", name.lower())}
        return tuple(student for student in self.students if student.ids & asked)

    def missing(self, found: Iterable[Student]) -> list[Student]:
        """The students who are not among these."""
        have = {student.id for student in found}
        return [student for student in self.students if student.id not in have]


def roster_of(path: Path) -> Roster:
    """The students of a CSV file.

    Raises:
        ValueError: in one line, if it cannot be read, has no column of ids, nobody in it, or two of one id.
    """
    try:
        text = inputs.content(path, most=MOST_ROSTER).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"--roster {path} is no text in UTF-8: save it as CSV, UTF-8") from None
    # A spreadsheet of some countries parts cells by semicolons, and may say so first.
    text = re.sub(r"\Asep=.\r?\n", "", text)
    first = text.partition("\n")[0]
    parted = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=parted))
    except csv.Error as error:
        raise ValueError(f"--roster {path} is no CSV: {error}; save it as CSV, UTF-8") from None
    headings = [cell.strip().lower() for cell in rows[0]] if rows else []
    columns = [at for wanted in IDS for at, heading in enumerate(headings) if heading == wanted]
    if not columns:
        told = ", ".join(rows[0]) if rows else "nothing"
        raise ValueError(f"--roster {path}: its first line is {told!r:.80}; one column is to be called id")
    students: list[Student] = []
    lines: dict[str, int] = {}
    for number, row in enumerate(rows[1:], 2):
        cells = [row[at].strip() if at < len(row) else "" for at in range(len(headings))]
        # Moodle writes `Participant 12345`.
        ids = [re.sub(r"^Participant ", "", cells[at]) for at in columns if cells[at]]
        if not ids:
            continue
        name = " ".join(cells[at] for at, heading in enumerate(headings) if heading in NAMES and cells[at])
        if ids[0].lower() in lines:
            raise ValueError(
                f"--roster {path}: lines {lines[ids[0].lower()]} and {number} have the id {ids[0]!r:.40}"
            )
        lines[ids[0].lower()] = number
        students.append(Student(id=ids[0], name=name, also=tuple(ids[1:])))
    if not students:
        raise ValueError(f"--roster {path}: nobody stands below its headings")
    return Roster(students=tuple(students))
