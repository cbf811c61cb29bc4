"""What became of each change: lines of JSON, added one by one, of one commit; and the table of several records.

The first line of a record says the commit, the room, the sample. Every other line has a change: whether a test of
the inner circle killed it, and if none did, whether one of the outer circle did.
"""

import collections
import dataclasses
import json
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory.stats import proportion
from tests.mutants.changes import Change

EQUIVALENTS = Path(__file__).parent / "equivalents.toml"
KILLED = {"failed", "clock", "crash"}
"""By a test, by the limit of processor time, or by a signal."""
ERROR_RATE = 0.05


class Refused(Exception):
    """A record that is of something else; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Equivalent:
    """A change that is listed and not counted."""

    file: str
    text: str
    """The line, stripped."""
    change: str
    kind: str
    """`equivalent`: it changes nothing that anybody can see. `recipe`: it is as good a choice as the other."""
    reason: str


def equivalents(path: Path = EQUIVALENTS) -> dict[tuple[str, str, str], Equivalent]:
    """By file, text of the line and change.

    Raises:
        ValueError: if an entry lacks a field, has another or is of no known kind.
    """
    found = {}
    for entry in tomllib.loads(path.read_text("utf-8")).get("change", []):
        try:
            one = Equivalent(**entry)
        except TypeError as error:
            raise ValueError(f"{path.name}: {entry.get('change', entry)}: {error}") from None
        if one.kind not in {"equivalent", "recipe"}:
            raise ValueError(f"{path.name}: {one.change}: the kind is equivalent or recipe, not {one.kind!r}")
        found[one.file, one.text, one.change] = one
    return found


def key(change: Change | dict[str, Any]) -> tuple[str, str, str, int]:
    """What tells a change from all others of its commit, or of the older one whose survivor it is."""
    fields = dataclasses.asdict(change) if isinstance(change, Change) else change
    start = fields["start"] if fields.get("was") is None else fields["was"]
    return fields["file"], fields["text"], fields["change"], start


def is_killed(fate: dict[str, Any], circle: str) -> bool:
    """Whether a test of this circle killed a change."""
    return circle in fate and fate[circle]["state"] in KILLED


class Record:
    """A record that goes on where it stopped."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Open it, or begin it with the header.

        Raises:
            Refused: if it is there and has another header.
        """
        self.path, self.lock = path, threading.Lock()
        self.lines: list[dict[str, Any]] = []
        if path.exists() and path.stat().st_size:
            whole = path.read_text("utf-8")
            if not whole.endswith("\n"):  # a process was killed while it wrote
                whole = whole[: whole.rfind("\n") + 1]
                path.write_text(whole, "utf-8")
            self.lines = [json.loads(line) for line in whole.splitlines()]
        if not self.lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.add(header)
        for name, value in header.items():
            if self.lines[0].get(name) != value:
                raise Refused(
                    f"{path} is a record with {name} {self.lines[0].get(name)}, not {value}: "
                    f"go on with that --{name}, or name another --record"
                )

    def add(self, line: dict[str, Any]) -> None:
        """Write a line; it is on the disk afterwards."""
        with self.lock:
            self.lines.append(line)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    @property
    def fates(self) -> dict[tuple[str, str, str, int], dict[str, Any]]:
        """By change, what became of it."""
        return {key(line): line for line in self.lines if "change" in line}


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A record's header and its fates."""
    header, *fates = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return header, fates


def shortened(text: str, width: int) -> str:
    """The beginning and the end of a text."""
    return text if len(text) <= width else f"{text[: width // 2]} ... {text[-width // 2 :]}"


def least_share(kept: int, of: int) -> float:
    """The lower end of Clopper and Pearson's interval for a share, at 95 %, both ends counted."""
    return proportion().interval(np.repeat([1.0, 0.0], [kept, of - kept]), ERROR_RATE).low


def table(paths: list[Path]) -> str:
    """Markdown of all records: a row for each room, then what the inner circle lets pass, then what is not counted.

    Of a change in several records the last says what became of it.
    """
    listed = equivalents()
    rooms: dict[str, dict[Any, dict[str, Any]]] = collections.defaultdict(dict)
    headers = {}
    for path in paths:
        header, fates = read(path)
        headers[header["room"]] = header
        rooms[header["room"]].update((key(fate), fate) for fate in fates)
    rows, passed, left = [], [], []
    sums: collections.Counter[str] = collections.Counter()
    for room, fates in sorted(rooms.items()):
        inner = sum(is_killed(fate, "inner") for fate in fates.values())
        both = inner + sum(is_killed(fate, "outer") for fate in fates.values())
        surviving = 0
        for at, fate in fates.items():
            where = f"`{fate['file'].removeprefix('attnlab_theory/')}:{fate['line']}`"
            change = f"`{shortened(fate['change'].replace('|', chr(92) + '|'), 90)}`"
            if is_killed(fate, "inner"):
                continue
            if is_killed(fate, "outer"):
                passed.append(f"| {where} | {change} | `{fate['outer']['killer'] or fate['outer']['state']}` |")
            elif at[:3] in listed:
                left.append(f"| {where} | {change} | {listed[at[:3]].kind} | {listed[at[:3]].reason} |")
            else:
                surviving += 1
                passed.append(f"| {where} | {change} | none |")
        sums.update(tried=len(fates), every=headers[room]["all"], inner=inner, both=both, surviving=surviving)
        rows.append(
            _row(
                f"`{room}`, seed {headers[room]['seed']}", len(fates), headers[room]["all"], inner, both, surviving
            )
        )
    if len(rows) > 1:
        rows.append(_row("all", sums["tried"], sums["every"], sums["inner"], sums["both"], sums["surviving"]))
    heads = (
        ("| room | tried | changes in the room | killed by the inner circle | by both circles | share | at least "
         "| surviving | listed |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|", rows),
        ("| not killed by the inner circle | change | killer in the outer circle |\n|---|---|---|", passed),
        ("| listed, not counted | change | kind | why |\n|---|---|---|---|", left),
    )  # fmt: skip
    return "\n\n".join("\n".join([head, *lines]) for head, lines in heads if lines)


def _row(name: str, tried: int, every: int, inner: int, both: int, surviving: int) -> str:
    share = f"{inner / both:.3f} | {least_share(inner, both):.3f}" if both else "- | -"
    return (
        f"| {name} | {tried} | {every:,} | {inner} | {both} | {share} | {surviving} | {tried - both - surviving} |"
    )


def families(paths: list[Path]) -> str:
    """Markdown of the parametrised tests of records whose tests were asked to the end, the most members first.

    A row tells of a family how many members were asked, and how many mutants made one of them fall. The last number
    is how many of these mutants spared another member. Where it is nought, one member says what all say.
    """
    members: dict[str, set[str]] = collections.defaultdict(set)
    killed, apart = collections.Counter[str](), collections.Counter[str]()
    for path in paths:
        for fate in read(path)[1]:
            asked = [test for circle in ("inner", "outer") for test in fate.get(circle, {}).get("tests", ())]
            fallen = {test for circle in ("inner", "outer") for test in fate.get(circle, {}).get("fallen", ())}
            of_family: dict[str, list[str]] = collections.defaultdict(list)
            for test in asked:
                if "[" in test:
                    of_family[test.partition("[")[0]].append(test)
            for family, tests in of_family.items():
                members[family] |= {*tests}
                if len(tests) > 1 and fallen & {*tests}:
                    killed[family] += 1
                    apart[family] += not {*tests} <= fallen
    rows = [
        f"| `{family.removeprefix('tests/')}` | {len(members[family])} | {killed[family]} | {apart[family]} |"
        for family in sorted(killed, key=lambda family: (-len(members[family]), family))
    ]
    head = "| family | members asked | mutants that one kills | of these not killed by all |\n|---|--:|--:|--:|"
    return "\n".join([head, *rows])
