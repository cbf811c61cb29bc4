"""What became of each change: lines of JSON, added one by one, of one commit.

The first line of a record says the commit, the room, the sample. A line with `tests_of` says what the tests of a
file reach in the room, or those of them that are `about` one module. A line with a `change` says what became of it.
"""

import collections
import dataclasses
import json
import threading
import tomllib
from pathlib import Path
from typing import Any

from tests.mutants.changes import Change

EQUIVALENTS = Path(__file__).parent / "equivalents.toml"
KILLED = {"failed", "clock", "crash", "error"}
"""By a test, by the limit of processor time, by a signal, or while the tests were collected."""


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
    def controls(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What tests did without a change, by their file and the module that they are about, if not all ran."""
        return {(line["tests_of"], line.get("about", "")): line for line in self.lines if "tests_of" in line}

    @property
    def fates(self) -> dict[tuple[str, str, str, int], dict[str, Any]]:
        """By change, what became of it."""
        return {key(line): line for line in self.lines if "change" in line}


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """A record's header, its fates, and what its tests did without a change."""
    header, *lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return header, [line for line in lines if "change" in line], [line for line in lines if "tests_of" in line]


def without_what_is_reached(path: Path) -> str:
    """A record that is kept: all of it but for what each test reaches, which is long and soon out of date."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return "".join(json.dumps({n: v for n, v in line.items() if n != "told"}) + "\n" for line in lines)


def shortened(text: str, width: int) -> str:
    """The beginning and the end of a text."""
    return text if len(text) <= width else f"{text[: width // 2]} ... {text[-width // 2 :]}"


def table(paths: list[Path]) -> str:
    """Markdown of all records: a row for each sample, then those that survive and those that are not counted.

    Of a change in several records the last says what became of it.
    """
    listed = equivalents()
    rooms: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    spent: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for path in paths:
        header, fates, controls = read(path)
        sample = f"`{header['room']}`" + (f", seed {header['seed']}" if header["seed"] else "")
        spent[sample] += fates + controls
        for fate in fates:
            rooms[sample].append({**fate, "wanted": header["sample"], "all": header["all"]})
    rows, survivors, left = [], [], []
    for room, fates in rooms.items():
        first, last = {}, {}
        for fate in fates:
            first.setdefault(key(fate), fate)
            last[key(fate)] = fate
        counted = [at for at in last if at[:3] not in listed or last[at]["state"] in KILLED]
        at_once = sum(first[at]["state"] in KILLED for at in counted)
        by_now = sum(last[at]["state"] in KILLED for at in counted)
        hours = sum(line["wall"] for line in spent[room]) / 3600
        processor = sum(line["cpu"] for line in spent[room]) / 3600
        asked, wanted, every = len(first), fates[0]["wanted"], fates[0]["all"]
        rows.append(
            f"| {room} | {asked} of {wanted} | {every:,} | {at_once} | {by_now - at_once} "
            f"| {len(counted) - by_now} | {asked - len(counted)} | {processor:.2f} | {hours:.2f} |"
        )
        for at, fate in last.items():
            if fate["state"] in KILLED:
                continue
            where = f"`{fate['file'].removeprefix('attnlab_theory/')}:{fate['line']}`"
            change = f"`{shortened(fate['change'].replace('|', chr(92) + '|'), 90)}`"
            if at[:3] in listed:
                left.append(f"| {where} | {change} | {listed[at[:3]].kind} | {listed[at[:3]].reason} |")
            else:
                survivors.append(
                    f"| {where} | {change} | {fate['asked']} of {fate.get('reaching', fate['asked'])} |"
                )
    heads = (
        ("| room | asked | changes in the room | killed at once | killed by tests written since | surviving "
         "| not counted | hours of a processor | hours |\n|---|---|---|---|---|---|---|---|---|", rows),
        ("| survivor | change | tests asked |\n|---|---|---|", survivors),
        ("| not counted | change | kind | why |\n|---|---|---|---|", left),
    )  # fmt: skip
    return "\n\n".join("\n".join([head, *lines]) for head, lines in heads if lines)
