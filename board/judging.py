"""The judgement of one entry point: every kind that it promises, as plain values for a JSON file."""

import functools
import hashlib
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory.conform.costly import Costly
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.report import as_json
from attnlab_theory.conform.suite import Killed, Refused, Row, suite_class
from board.entry import AGAINST, HERE, Entry
from board.process import Peer, Process
from board.snippets import automatic, shown, written

CALLED = "called"
"""The identity of a target that answers no trial call."""

PATHS = "paths/"
"""Before the identities in which an entry point must agree with another path through the same object."""


def fingerprint(entry: Entry) -> str:
    """What tells that the adapter, a snippet or what is declared is another one."""
    files = [entry.adapter, *(HERE / "snippets" / file for file in sorted({*entry.snippets.values()}))]
    tables = entry.kinds, entry.declared, entry.variables, entry.snippets, entry.against
    told = repr([dict(table) for table in tables]).encode()
    return hashlib.sha256(b"".join([told, *(file.read_bytes() for file in files)])).hexdigest()[:12]


def judged(entry: Entry, python: Path, tell: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Judge an entry point.

    Args:
        entry: of the catalogue.
        python: of its environment.
        tell: gets a line for each kind that is done.

    Raises:
        ValueError: if the library is not installed, with the remedy.
    """
    begun, spent = time.monotonic(), _core_seconds()
    kinds: dict[str, Any] = {}
    with Process(python, entry.adapter, entry.variables) as process:
        versions = process.versions([entry.library, "numpy"])
        if not versions.get("versions", {}).get(entry.library):
            raise ValueError(
                f"{entry.library} is not installed in {python.parents[1]}: attnlab conform --peers --install"
            )
        for kind in entry.kinds:
            kinds[kind] = _kind(entry, kind, process, python)
            tell(f"{entry.name} as {kind}: {_counted(kinds[kind])}")
    return {
        "entry": entry.name,
        "library": entry.library,
        "version": versions["versions"][entry.library].partition("+")[0],
        "numpy": versions["versions"]["numpy"],
        "python": versions["python"],
        "adapter": fingerprint(entry),
        "kinds": kinds,
        "paths": {
            key.removeprefix(PATHS): _run(written(file), "", entry, python)
            for key, file in entry.snippets.items()
            if key.startswith(PATHS)
        },
        "seconds": round(time.monotonic() - begun, 1),
        # Other work on the machine makes the run longer, and these not.
        "core_seconds": round(_core_seconds() - spent, 1),
    }


def _core_seconds() -> float:
    """What this process and those that it has waited for took of a core."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _kind(entry: Entry, kind: str, process: Process, python: Path) -> dict[str, Any]:
    begun = time.monotonic()
    process.deaths, process.costly = 0, Costly()
    judge = suite_class(kind)
    try:
        suite = judge(Peer(process, entry.kinds[kind], entry.name), kind, entry.declared)
        if other := entry.against.get(kind):
            suite.against(Peer(process, other, other))
        rows = [*suite.rows()]
    except Killed:
        # It says nothing of the library.
        raise
    except ValueError as error:
        # Without the advice to our own user, which follows the error of the library.
        troubles = error.troubles if isinstance(error, Refused) else ()
        such = "; ".join(map(str, troubles[:2]))
        said = f"every trial call ends with an error: {such}" if troubles else str(error)
        row = Row(name=CALLED, verdict=Verdict.FAILS, line=said, tried=1, trouble=next(iter(troubles), None))
        plain = {"name": row.name, "verdict": row.verdict, "line": row.line, "tried": row.tried, "tolerances": None}
        plain |= {"snippet": _snippet(entry, kind, None, row, python)}
        return {"kind": kind, "profile": {}, "identities": [plain], "seconds": round(time.monotonic() - begun, 1)}
    told = as_json(
        suite, rows, entry.name, kind, int(any(r.verdict == "fails" for r in rows)), time.monotonic() - begun
    )
    identities = []
    for row, plain in zip(rows, told["rows"], strict=True):
        fields = {"name": row.name, "verdict": row.verdict, "line": row.line, "tried": row.tried}
        fields |= {"tolerances": plain["worst"]} | ({"brief": row.brief} if row.brief else {})
        fields |= {name: plain[name] for name in ("flash_attention_rule",) if name in plain}
        if row.verdict == "fails":
            fields["snippet"] = _snippet(entry, kind, suite, row, python)
        identities.append(fields)
    kept = {name: told[name] for name in ("notes", "largest_error_of_a_right_answer", "calls", "seconds")}
    return {"kind": kind, "profile": told["conventions"], "identities": identities, **kept}


def _snippet(entry: Entry, kind: str, suite: Any, row: Row, python: Path) -> dict[str, Any]:
    """What shows a failure, run in the environment without this package."""
    known = entry.failure("paths" if row.name == AGAINST else kind, row.name)
    lines: Sequence[str] = automatic(entry, kind, suite, row) if suite else ()
    if known and known.snippet:
        lines = written(known.snippet)
    # Where a call raises, that error may end the snippet, too.
    return _run(lines, row.trouble.error if row.trouble else "", entry, python)


def _run(lines: Sequence[str], error: str, entry: Entry, python: Path) -> dict[str, Any]:
    if not lines:
        return {"lines": [], "shows": False, "output": ""}
    errors = ("AssertionError", *[error] * bool(error))
    shows, output = _shown(tuple(lines), python, tuple(entry.variables.items()), errors)
    return {"lines": [*lines], "shows": shows, "output": output}


@functools.cache
def _shown(
    lines: tuple[str, ...], python: Path, variables: tuple[tuple[str, str], ...], errors: tuple[str, ...]
) -> tuple[bool, str]:
    return shown(lines, python, dict(variables), errors)


def _counted(told: dict[str, Any]) -> str:
    verdicts = [row["verdict"] for row in told["identities"]]
    return f"{verdicts.count('holds')} hold, {verdicts.count('fails')} fail, {told['seconds']} s"
