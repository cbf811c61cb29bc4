"""The journal of a class: a line for each submission that is marked. So a run that was stopped can go on.

Whoever can write beside the class can write a journal, but no mark: each line is sealed with the key of the account
that grades. A seal covers the files of the submission, the questions, the version and the seed of the cases.
"""

import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from attnlab_theory import __version__, files, inputs
from attnlab_theory.grader.classroom.marks import Mark, Terms
from attnlab_theory.grader.classroom.rubric import RUBRICS

GRADER = Path(__file__).parents[1]
JUDGES = (GRADER, GRADER.with_name("sandbox"))
"""The rooms whose code decides a mark, as far as it is not a question's own."""

BEGINNING = b'{"graded": "'
"""How the first line of every journal begins."""

KEY = 32
"""Bytes of a key."""

_ELSEWHERE = "set XDG_CONFIG_HOME to a folder of your own"

UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, TypeError, LookupError, RecursionError, AttributeError)
"""The errors of reading a line that this module has not written."""


class Misfit(Exception):
    """A journal that is not of this run. The message says why."""


class Journal:
    """Marks by content, in a file that grows.

    Args:
        path: of the file. A journal that does not fit is set aside under another name, and told of.
        terms: of this run. If their seed is 0, it is that of the journal, or a new one.

    Raises:
        ValueError: if no key can be kept where this account alone can read and write it.
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self.path, self.terms, self._key = path, terms, key()
        self.marks: dict[str, dict[str, Mark]] = {}
        """What is known, by content."""
        self._file: FileIO | None = None

    @contextlib.contextmanager
    def open(self) -> Iterator["Journal"]:
        """Read the journal, and keep it open for more lines. No other run may use it until the block ends.

        Raises:
            ValueError: if the file is no journal, or another run holds it.
        """
        if self.path.is_fifo():
            raise ValueError(f"{self.path} is a pipe, which keeps no marks: name a file with --journal")
        with files.held(self.path):
            whole = 0
            if self.path.exists() and not files.is_stream(self.path):
                try:
                    whole = self._read()
                except Misfit as misfit:
                    self.marks = {}
                    self._set_aside(str(misfit))
            if not self.terms.seed:
                self.terms = dataclasses.replace(self.terms, seed=1 + secrets.randbelow(2**31 - 1))
            with self.path.open("ab", buffering=0) as self._file:
                if not files.is_stream(self.path):
                    # A run that was killed may have left half a line.
                    self._file.truncate(whole)
                if not whole:
                    self._write(self._sealed(_heading(self.terms)))
                yield self

    def add(self, content: str, marks: dict[str, Mark]) -> None:
        """Write down the marks of a submission, by the hash of its content."""
        self.marks[content] = marks
        self._write(self._sealed({"content": content, "marks": marks}))

    def _write(self, value: dict[str, Any]) -> None:
        assert self._file is not None
        left = memoryview(json.dumps(value).encode() + b"\n")
        with files.named(self.path):
            while left:
                left = left[self._file.write(left) :]

    def _sealed(self, line: dict[str, Any]) -> dict[str, Any]:
        """A line with its seal, which whoever lacks the key cannot make."""
        covered = json.dumps([_heading(self.terms), line]).encode()
        return {**line, "seal": hmac.new(self._key, covered, hashlib.sha256).hexdigest()}

    def _read(self) -> int:
        """Read all whole lines. Returns how many bytes they are.

        Raises:
            Misfit: if it is a journal of another run, or of nobody's.
            ValueError: if it is no journal.
        """
        written = inputs.content(self.path)
        whole = written.rfind(b"\n") + 1
        heading, *lines = written[:whole].splitlines() or [b""]
        if not whole and BEGINNING.startswith(written[: len(BEGINNING)]):
            return 0
        try:
            found = json.loads(heading)
            if found["graded"] not in RUBRICS and "state of the homework" not in found:
                raise LookupError
        except UNREADABLE:
            raise ValueError(
                f"{self.path} is not a journal of attnlab grade: move it away, or name another file with --journal"
            ) from None
        seed = found.get("seed")
        if not self.terms.seed and type(seed) is int and 0 < seed < 2**63:
            self.terms = dataclasses.replace(self.terms, seed=seed)
        for name, value in json.loads(json.dumps(_heading(self.terms))).items():
            if found.get(name) != value:
                raise Misfit(f"was begun with another {name}")
        if not self._is_sealed(found):
            raise Misfit("was not written by this account")
        for line in lines:
            try:
                entry = json.loads(line)
                if not self._is_sealed(entry) or set(entry["marks"]) != set(self.terms.rubric.points):
                    raise LookupError
                self.marks[str(entry["content"])] = entry["marks"]
            except UNREADABLE:
                raise Misfit("has a line that this account did not write") from None
        return whole

    def _is_sealed(self, line: dict[str, Any]) -> bool:
        # As text: NaN differs from itself.
        wanted = self._sealed({name: value for name, value in line.items() if name != "seal"})["seal"]
        return hmac.compare_digest(str(line.get("seal")).encode(), wanted.encode())

    def _set_aside(self, why: str) -> None:
        numbers = iter(range(1, sys.maxsize))
        names = (self.path.with_name(f"{self.path.name}.aside-{number}") for number in numbers)
        aside = next(name for name in names if not os.path.lexists(name))
        self.path.rename(aside)
        print(f"{self.path} {why}: it is now {aside}, and all is judged again", file=sys.stderr)


def key() -> bytes:
    """The key of this account. It is made when it is first wanted.

    Raises:
        ValueError: if there is no place that this account alone can write, or the key there is readable to others.
    """
    try:
        home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "attnlab"
    except RuntimeError:
        raise ValueError("attnlab grade keeps the key of its journals at home: set the variable HOME") from None
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "geteuid") and os.stat(home.parent).st_mode & stat.S_IWOTH:
            raise ValueError(
                f"{home.parent} is open to everybody, and the key of journals would lie there: {_ELSEWHERE}"
            )
        _refuse_shared(home, os.lstat(home), 0o022, stat.S_ISDIR)
        path = home / "journal.key"
        if not os.path.lexists(path):
            _make_key(path)
        _refuse_shared(path, os.lstat(path), 0o077, stat.S_ISREG)
        found = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the key of journals cannot be kept at {home}: {error.strerror or error}") from None
    if len(found) != KEY:
        raise ValueError(f"{path} is not a key of attnlab grade: move it away")
    return found


def _make_key(path: Path) -> None:
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY))
        # Of two runs that begin at once, one makes the key.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_shared(path: Path, found: os.stat_result, others: int, wanted: Callable[[int], bool]) -> None:
    if not hasattr(os, "geteuid"):
        return
    if not wanted(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & others:
        raise ValueError(
            f"{path} must belong to whoever grades, and to nobody else, for it keeps the key of journals: move it "
            f"away, or {_ELSEWHERE}"
        )


def _heading(terms: Terms) -> dict[str, Any]:
    """What must be the same for marks to be the same."""
    return {
        "graded": terms.rubric.homework,
        "set of questions": list(terms.rubric.points),
        "state of the homework": terms.rubric.written.state,
        "time limit": terms.time_limit,
        "choice of --unfenced": terms.unfenced,
        "set of fences": sorted(terms.means),
        "seed": terms.seed,
        "version of attnlab": __version__,
        "state of the grader's code": _code(),
    }


def _code() -> str:
    """A hash of the files that read submissions, run and judge them."""
    total = hashlib.sha256()
    for room in JUDGES:
        for path in sorted(room.rglob("*.py")):
            total.update(str(path.relative_to(room)).encode() + path.read_bytes())
    return total.hexdigest()[:16]
