"""The journal of a class: a line for each submission that is marked. So a run that was stopped can go on."""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from attnlab_theory import __version__, files, inputs
from attnlab_theory.grader.classroom.marks import Mark, Terms
from attnlab_theory.grader.classroom.rubric import RUBRICS

GRADER = Path(__file__).parents[1]

UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, TypeError, LookupError, RecursionError)
"""The errors of reading a line that this module has not written."""


class Journal:
    """Marks by content, in a file that grows.

    Args:
        path: of the file.
        terms: of this run. A journal that was begun on other terms is refused.
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self.path, self.terms = path, terms
        self.marks: dict[str, dict[str, Mark]] = {}
        """What is known, by content."""
        self._file: BinaryIO | None = None

    @contextlib.contextmanager
    def open(self) -> Iterator["Journal"]:
        """Read the journal, and keep it open for more lines. No other run may use it until the block ends.

        Raises:
            ValueError: if it is not a journal, was begun on other terms, or another run holds it.
        """
        with files.held(self.path):
            whole = self._read() if self.path.exists() and not files.is_stream(self.path) else 0
            with self.path.open("ab") as self._file:
                if not files.is_stream(self.path):
                    # A run that was killed may have left half a line.
                    self._file.truncate(whole)
                if not whole:
                    self._write(_heading(self.terms))
                yield self

    def add(self, content: str, marks: dict[str, Mark]) -> None:
        """Write down the marks of a submission, by the hash of its content."""
        self.marks[content] = marks
        self._write(_sealed({"content": content, "marks": marks}))

    def _write(self, value: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()

    def _read(self) -> int:
        """Read all whole lines. Returns how many bytes they are."""
        written = inputs.content(self.path)
        whole = written.rfind(b"\n") + 1
        heading, *lines = written[:whole].splitlines() or [b""]
        if not whole:
            if written and not json.dumps(_heading(self.terms)).encode().startswith(written):
                raise self._refused("is not a journal of attnlab grade")
            return 0
        try:
            found = json.loads(heading)
            if found["graded"] not in RUBRICS:
                raise LookupError
        except UNREADABLE:
            raise self._refused("is not a journal of attnlab grade") from None
        try:
            wanted = json.loads(json.dumps(_heading(self.terms)))
            for name, value in wanted.items():
                if found.get(name) != value:
                    raise self._refused(f"was begun with another {name}")
            for line in lines:
                entry = json.loads(line)
                wanted = _sealed({"content": entry["content"], "marks": entry["marks"]})
                # As text: NaN differs from itself.
                if json.dumps(entry) != json.dumps(wanted) or set(entry["marks"]) != set(self.terms.rubric.points):
                    raise LookupError
                self.marks[str(entry["content"])] = entry["marks"]
        except UNREADABLE:
            raise self._refused("is damaged") from None
        return whole

    def _refused(self, why: str) -> ValueError:
        return ValueError(f"{self.path} {why}: move it away, or name another file with --journal")


def _sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with a hash of it. So a line that was changed afterwards gives no mark."""
    return {**entry, "hash": hashlib.sha256(json.dumps(entry).encode()).hexdigest()[:16]}


def _heading(terms: Terms) -> dict[str, Any]:
    """What must be the same for marks to be the same."""
    return {
        "graded": terms.rubric.homework,
        "set of questions": list(terms.rubric.points),
        "time limit": terms.time_limit,
        "choice of --unfenced": terms.unfenced,
        "set of fences": sorted(terms.means),
        "version of attnlab": __version__,
        "state of the grader's code": _code(),
    }


def _code() -> str:
    """A hash of the grader's own files."""
    total = hashlib.sha256()
    for path in sorted(GRADER.rglob("*.py")):
        total.update(str(path.relative_to(GRADER)).encode() + path.read_bytes())
    return total.hexdigest()[:16]
