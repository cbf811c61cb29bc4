"""What the JSON files say, cell by cell: what fails as the library documents is no failure."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attnlab_theory.conform.peers.entry import AGAINST, Entry, said

AGREE = ("blind rows",)
"""Conventions in which two paths through one object must agree."""

BLIND = ("causal", "sliding-window")
"""Kinds that hide something by themselves: whoever takes no mask beside it was not asked about blind rows."""

ATTENTION = ("softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias")
"""Kinds of a function of queries, keys and values."""

COLUMNS = (
    *ATTENTION,
    *("rotary", "sinusoidal", "alibi", "linear", "recurrent", "random-features", "dropout"),
    *("mixer", "decode", "model"),
)
"""The kinds, in the order of the table."""

COMMAND = "attnlab conform --peers"


class Cell(NamedTuple):
    """What became of one entry point as one kind."""

    word: str
    """holds, unmasked, fails, as documented, or cannot."""
    failing: Sequence[Mapping[str, Any]]
    """The rows that fail, and that the library does not document."""
    documented: Sequence[tuple[Mapping[str, Any], str]]
    """The rows that fail as documented, and where that is."""

    @property
    def text(self) -> str:
        """In a few words."""
        words = {"cannot": "–", "unmasked": "holds, no mask"}
        return f"FAILS: {self.failing[0]['name']}" if self.failing else words.get(self.word, self.word)

    @property
    def much(self) -> str:
        """By how many tolerances the first failure is off, where that is a number."""
        off = self.failing[0]["tolerances"] if self.failing else None
        return f", {off:,.0f} tolerances" if off and off > 1 else ""


class Result(NamedTuple):
    """An entry point, and what one file says of it."""

    entry: Entry
    told: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The entry point and the version."""
        return f"{self.entry.called} ({self.told['library']} {self.told['version']})"


class Red(NamedTuple):
    """A failure, with what shows it."""

    result: Result
    kind: str
    row: Mapping[str, Any]

    def said(self, table: str) -> str:
        """What a table of the catalogue says of it, such as `threads`; empty if nothing."""
        return said(getattr(self.result.entry, table), self.kind, self.row["name"])


def verdict_of(entry: Entry, kind: str, told: Mapping[str, Any]) -> Cell:
    """What became of one kind: what fails as the library documents is no failure."""
    failing, documented = [], []
    for row in told["identities"]:
        if row["verdict"] == "fails" and (kind == "paths" or row["name"] != AGAINST):
            if place := said(entry.documented, kind, row["name"]):
                documented.append((row, place))
            else:
                failing.append(row)
    unmasked = kind in BLIND and all(row["name"] != "blind rows" for row in told["identities"])
    held = "unmasked" if unmasked else "holds"
    return Cell("fails" if failing else "as documented" if documented else held, failing, documented)


def results(folder: Path, entries: Sequence[Entry]) -> list[Result]:
    """What is written, in the order of the catalogue; of several versions the newest.

    Raises:
        ValueError: if a file names no entry of the catalogue, or is none of ours.
    """
    known = {entry.name: entry for entry in entries}
    newest: dict[str, Result] = {}
    # LIBRARY.WORD-VERSION.json: the calibration of `conform` lies in the same folder.
    for path in sorted(folder.glob("*.*-*.json")):
        try:
            told = json.loads(path.read_text("utf-8"))
            name, version, _ = told["entry"], told["version"], told["core_seconds"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is no result of {COMMAND}: remove it") from None
        if name not in known:
            raise ValueError(f"{path} names {name!r}, which the catalogue does not have: remove it")
        if name not in newest or _order(version) > _order(newest[name].told["version"]):
            newest[name] = Result(known[name], told)
    return [newest[entry.name] for entry in entries if entry.name in newest]


def _order(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[a-z]+", version)]


def reds(found: Sequence[Result]) -> list[Red]:
    """All failures.

    Raises:
        ValueError: if one has no snippet that shows it.
    """
    told = []
    for result in found:
        for kind, judged in result.told["kinds"].items():
            for row in verdict_of(result.entry, kind, judged).failing:
                told.append(Red(result, kind, row))
        told += [Red(result, "paths", row) for row in paths_of(result, found).failing]
    for red in told:
        if not red.row.get("snippet", {}).get("shows"):
            raise ValueError(
                f"{red.result.entry.name} as {red.kind} fails {red.row['name']!r}, and no snippet shows it: write "
                "one into conform/peers/snippets, and name it in the catalogue"
            )
    return told


def paths_of(result: Result, found: Sequence[Result]) -> Cell:
    """Whether two paths through one object agree: in their conventions, and in their answers to the same calls."""
    other = next((each for each in found if each.entry.name == result.entry.same_as), None)
    rows = [row for told in result.told["kinds"].values() for row in told["identities"] if row["name"] == AGAINST]
    if other is None:
        return verdict_of(result.entry, "paths", {"identities": rows}) if rows else Cell("cannot", (), ())
    for kind in result.told["kinds"]:
        one, another = (conventions(each, kind) for each in (result, other))
        for name in AGREE:
            if name in one and name in another and one[name] != another[name]:
                snippet = result.told["paths"].get(name, {})
                line = f"{one[name]}, and {another[name]} by the path of {other.entry.called}"
                told = {"name": name, "verdict": "fails", "line": line, "tolerances": None, "snippet": snippet}
                rows.append(told)
                break
        if any(row["name"] in AGREE for row in rows):
            break
    return verdict_of(result.entry, "paths", {"identities": rows})


def conventions(result: Result, kind: str) -> dict[str, str]:
    """The identities of a kind that are conventions, with their lines."""
    rows = result.told["kinds"].get(kind, {"identities": []})["identities"]
    return {row["name"]: row["line"] for row in rows if row["verdict"] == "convention"}


def columns(found: Sequence[Result]) -> list[str]:
    """The kinds as which somebody was judged, in the order of `COLUMNS`."""
    return [kind for kind in COLUMNS if any(kind in result.told["kinds"] for result in found)]


def parts(found: Sequence[Result]) -> list[list[Result]]:
    """Functions of attention, and then everything else; a part that is empty is left out."""
    both: tuple[list[Result], list[Result]] = ([], [])
    for result in found:
        both[not {*result.told["kinds"]} & {*ATTENTION}].append(result)
    return [part for part in both if part]


def cell_of(result: Result, kind: str) -> Cell:
    """One cell of the board."""
    if kind not in result.told["kinds"]:
        return Cell("cannot", (), ())
    return verdict_of(result.entry, kind, result.told["kinds"][kind])


def agreement(cell: Cell) -> str:
    """A cell of the column of paths."""
    return {"fails": "FAILS", "as documented": "as documented", "cannot": ""}.get(cell.word, "agree")
