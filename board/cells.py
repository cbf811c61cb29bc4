"""What the JSON files say, cell by cell: what kind of failure a failure is, and what is none."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from board.entry import AGAINST, Category, Entry, Failure

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

UNKNOWN = "fails"
"""The word of a cell with a failure that its entry says nothing of."""

WORST = (UNKNOWN, *Category)
"""The words of cells in which something fails. The first that is true of a row of a cell is the cell's."""


class Row(NamedTuple):
    """A row that fails, and what its entry says of that."""

    told: Mapping[str, Any]
    failure: Failure | None

    @property
    def word(self) -> str:
        """Its category, or `UNKNOWN`."""
        return self.failure.category if self.failure else UNKNOWN


class Cell(NamedTuple):
    """What became of one entry point as one kind."""

    word: str
    """holds, unmasked, cannot, or one of `WORST`."""
    rows: Sequence[Row]
    """The rows that fail, those of the cell's word first."""

    @property
    def undocumented(self) -> list[Row]:
        """The rows that fail, and that the library does not document."""
        return [row for row in self.rows if row.word != Category.DOCUMENTED]


class Result(NamedTuple):
    """An entry point, and what one file says of it."""

    entry: Entry
    told: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The entry point and the version."""
        return f"{self.entry.called} ({self.told['library']} {self.told['version']})"


def verdict_of(entry: Entry, kind: str, told: Mapping[str, Any]) -> Cell:
    """What became of one kind."""
    rows = [
        Row(row, entry.failure(kind, row["name"]))
        for row in told["identities"]
        if row["verdict"] == "fails" and (kind == "paths" or row["name"] != AGAINST)
    ]
    if rows:
        rows.sort(key=lambda row: WORST.index(row.word))
        return Cell(rows[0].word, rows)
    unmasked = kind in BLIND and all(row["name"] != "blind rows" for row in told["identities"])
    return Cell("unmasked" if unmasked else "holds", ())


def results(folder: Path, entries: Sequence[Entry]) -> list[Result]:
    """What is written, in the order of the catalogue; of several versions the newest.

    Raises:
        ValueError: if a file names no entry of the catalogue, or is none of ours.
    """
    known = {entry.name: entry for entry in entries}
    newest: dict[str, Result] = {}
    # LIBRARY.WORD-VERSION.json, beside the JSON of the whole board.
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


def cells_of(result: Result, found: Sequence[Result]) -> dict[str, Cell]:
    """The cells of an entry point: of each kind as which it was judged, and of its paths."""
    judged = result.told["kinds"].items()
    return {kind: verdict_of(result.entry, kind, told) for kind, told in judged} | {
        "paths": paths_of(result, found)
    }


def failures(found: Sequence[Result]) -> list[tuple[Result, str, Row]]:
    """All rows that fail, and that the library does not document, each with its kind.

    Raises:
        ValueError: if the entry says nothing of one, or no snippet shows it.
    """
    rows = [
        (result, kind, row)
        for result in found
        for kind, cell in cells_of(result, found).items()
        for row in cell.undocumented
    ]
    for result, kind, row in rows:
        which = f"{result.entry.name} as {kind} fails {row.told['name']!r}"
        if not row.told.get("snippet", {}).get("shows"):
            raise ValueError(
                f"{which}, and no snippet shows it: write one into board/snippets, and name it in the entry"
            )
        if row.failure is None:
            raise ValueError(f"{which}, and its entry has no category for it: {', '.join(Category)}")
    return rows


def paths_of(result: Result, found: Sequence[Result]) -> Cell:
    """Whether two paths through one object agree: in their conventions, and in their answers to the same calls."""
    other = next((each for each in found if each.entry.name == result.entry.same_as), None)
    rows = [row for told in result.told["kinds"].values() for row in told["identities"] if row["name"] == AGAINST]
    if other is None:
        return verdict_of(result.entry, "paths", {"identities": rows}) if rows else Cell("cannot", ())
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


def summary(found: Sequence[Result]) -> dict[str, Any]:
    """The board as plain values for a JSON file: functions of attention, and then everything else.

    A part has `columns`, and `entries` with their `cells` by column. A cell that is left out was not judged.
    """
    parts: tuple[list[Result], list[Result]] = ([], [])
    for result in found:
        parts[not {*result.told["kinds"]} & {*ATTENTION}].append(result)
    return {
        "schema": 1,
        "parts": [
            {
                "columns": [*(k for k in COLUMNS if any(k in r.told["kinds"] for r in part)), "paths"],
                "entries": [
                    {
                        "name": result.entry.name,
                        "called": result.entry.called,
                        "library": result.entry.library,
                        "version": result.told["version"],
                        "cells": {
                            kind: plain for kind, cell in cells_of(result, found).items() if (plain := _plain(cell))
                        },
                        "notes": dict(result.entry.notes),
                    }
                    for result in part
                ],
            }
            for part in parts
            if part
        ],
    }


def _plain(cell: Cell) -> dict[str, Any]:
    """A cell for a JSON file; nothing of one that was not judged."""
    if cell.word == "cannot":
        return {}
    plain: dict[str, Any] = {"word": str(cell.word)}
    if cell.rows:
        told, failure = cell.rows[0]
        plain["identity"] = told["name"]
        if (off := told["tolerances"]) and off > 1:
            plain["tolerances"] = round(off, 1)
        if failure and failure.category != Category.DOCUMENTED:
            plain["issues"] = dict(failure.issues)
    return plain
