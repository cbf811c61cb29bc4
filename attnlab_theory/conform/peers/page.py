"""The board as a page, made of the JSON files and of what the catalogue knows of them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attnlab_theory.conform.peers.catalogue import Entry, said

TOLD = ("blind rows", "hidden keys", "hidden NaN", "float64", "float16", "bfloat16", "empty batch")
"""Identities that may be conventions, in the order of the page's table."""

AGREE = ("blind rows",)
"""Conventions in which two paths through one object must agree."""

COLUMNS = (
    *("softmax", "causal", "multi-head", "grouped-query", "sliding-window", "softcap", "bias"),
    *("rotary", "sinusoidal", "alibi", "linear", "recurrent", "random-features", "dropout"),
    *("mixer", "decode", "model"),
)
"""The kinds, in the order of the table."""

COMMAND = "attnlab conform --peers"


class Cell(NamedTuple):
    """What became of one entry point as one kind."""

    word: str
    """holds, fails, convention, or cannot."""
    worst: float
    """How many tolerances a failure was off; 0 where there is no such number."""
    failing: Sequence[Mapping[str, Any]]
    """The rows that fail, and that the library does not document."""
    documented: Sequence[tuple[Mapping[str, Any], str]]
    """The rows that fail as documented, and where that is."""

    @property
    def text(self) -> str:
        """In a few words."""
        if self.word == "cannot":
            return "–"
        if self.word != "fails":
            return self.word
        if self.worst:
            return f"FAILS, {self.worst:.0e} tolerances"
        return f"FAILS: {self.failing[0]['name']}"


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
    thread: str


def verdict_of(entry: Entry, kind: str, told: Mapping[str, Any]) -> Cell:
    """What became of one kind: what a library documents is a convention."""
    failing, documented = [], []
    for row in told["identities"]:
        if row["verdict"] == "fails":
            if place := said(entry.documented, kind, row["name"]):
                documented.append((row, place))
            else:
                failing.append(row)
    word = "fails" if failing else "convention" if documented else "holds"
    return Cell(word, max((row["tolerances"] or 0.0 for row in failing), default=0.0), failing, documented)


def results(folder: Path, entries: Sequence[Entry]) -> list[Result]:
    """What is written, in the order of the catalogue; of several versions the newest.

    Raises:
        ValueError: if a file names no entry of the catalogue, or is none of ours.
    """
    known = {entry.name: entry for entry in entries}
    newest: dict[str, Result] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            told = json.loads(path.read_text("utf-8"))
            name, version = told["entry"], told["version"]
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
                told.append(Red(result, kind, row, said(result.entry.threads, kind, row["name"])))
        told += [
            Red(result, "paths", row, said(result.entry.threads, "paths", row["name"]))
            for row in paths(result, found)
        ]
    for red in told:
        if not red.row.get("snippet", {}).get("shows"):
            raise ValueError(
                f"{red.result.entry.name} as {red.kind} fails {red.row['name']!r}, and no snippet shows it: write "
                "one into conform/peers/snippets, and name it in the catalogue"
            )
    return told


def paths(result: Result, found: Sequence[Result]) -> list[dict[str, Any]]:
    """Conventions in which two paths through one object differ, as rows."""
    other = next((each for each in found if each.entry.name == result.entry.same_as), None)
    if other is None:
        return []
    rows = []
    for kind in result.told["kinds"]:
        one, another = (_conventions(each, kind) for each in (result, other))
        for name in AGREE:
            if name in one and name in another and one[name] != another[name]:
                snippet = result.told["paths"].get(name, {})
                line = f"{one[name]}, and {another[name]} by the path of {other.entry.called}"
                rows.append({"name": name, "line": line, "tolerances": None, "snippet": snippet})
                break
        if rows:
            break
    return rows


def _conventions(result: Result, kind: str) -> dict[str, str]:
    rows = result.told["kinds"].get(kind, {"identities": []})["identities"]
    return {row["name"]: row["line"] for row in rows if row["verdict"] == "convention"}


def columns(found: Sequence[Result]) -> list[str]:
    """The kinds as which somebody was judged, in the order of `COLUMNS`."""
    return [kind for kind in COLUMNS if any(kind in result.told["kinds"] for result in found)]


def cell_of(result: Result, kind: str) -> Cell:
    """One cell of the board."""
    if kind not in result.told["kinds"]:
        return Cell("cannot", 0.0, (), ())
    return verdict_of(result.entry, kind, result.told["kinds"][kind])


def page(found: Sequence[Result]) -> str:
    """The page, in Markdown.

    Raises:
        ValueError: if a failure has no snippet that shows it.
    """
    failures = reds(found)
    shown = columns(found)
    seconds = sum(result.told["seconds"] for result in found)
    failing = {red.result.entry.name for red in failures}
    parts = [
        f"<!-- Written by {COMMAND} from the JSON files of this folder. Changes are lost. -->",
        "# Do other libraries keep what they promise?",
        f"```\n{COMMAND}\n```",
        f"{len(found)} entry points of {len({r.entry.library for r in found})} libraries. {len(failing)} of them "
        f"fail somewhere. [docs/peers.md](../../docs/peers.md) says how to read this page. All of it took "
        f"{seconds / 60:.0f} minutes of one core.",
        "![the board](board.svg)",
        _table(
            ("entry point", "version", *shown, "paths"),
            (
                (
                    result.entry.called,
                    result.told["version"],
                    *(cell_of(result, kind).text for kind in shown),
                    "FAILS" if paths(result, found) else "agree" if result.entry.same_as else "",
                )
                for result in found
            ),
        ),
        "–: it cannot, for it has no argument of its own for that, or it was not tried. paths: two ways through "
        "one object.",
        "## What fails",
        "Each of these lines of Python was run without attnlab, in the environment of the library. Each ended with "
        "the error below it.",
        *_failures(failures),
        "## What fails as documented",
        _table(
            ("entry point", "as", "identity", "found", "documented"),
            (
                (result.entry.called, kind, row["name"], _short(row["line"]), place)
                for result in found
                for kind in result.told["kinds"]
                for row, place in cell_of(result, kind).documented
            ),
        ),
        "## Conventions",
        "Nobody fails for these. Where kinds differ in one, all are named.",
        _table(("entry point", *TOLD), (_told(result) for result in found)),
        "## Versions",
        _table(
            ("entry point", "file", "Python", "numpy", "kinds", "calls", "largest error", "seconds"),
            (
                (
                    result.entry.name,
                    f"[JSON]({result.entry.name}-{result.told['version']}.json)",
                    result.told["python"],
                    result.told["numpy"],
                    str(len(result.told["kinds"])),
                    str(sum(each.get("calls", 0) for each in result.told["kinds"].values())),
                    f"{_largest(result):.2g}",
                    f"{result.told['seconds']:.0f}",
                )
                for result in found
            ),
        ),
        "The largest error is that of a right answer, over its tolerance.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _largest(result: Result) -> float:
    return max(
        (each.get("largest_error_of_a_right_answer", 0.0) for each in result.told["kinds"].values()), default=0
    )


def _failures(failures: Sequence[Red]) -> Iterable[str]:
    before = ""
    by_snippet: dict[tuple[str, str], list[Red]] = {}
    for red in failures:
        by_snippet.setdefault((red.result.entry.name, "\n".join(red.row["snippet"]["lines"])), []).append(red)
    for (name, lines), group in by_snippet.items():
        if name != before:
            yield f"### {group[0].result.name}"
        before = name
        for red in group:
            off = f" ({red.row['tolerances']:.2g} tolerances)" if red.row["tolerances"] else ""
            yield f"**{red.kind}, {red.row['name']}**{off}: {_short(red.row['line'], 300)}"
        threads = dict.fromkeys(red.thread for red in group if red.thread)
        yield from (f"Public: {thread}." for thread in threads)
        yield f"```python\n{lines}\n```"
        yield f"`{group[0].row['snippet']['output']}`"


def _told(result: Result) -> tuple[str, ...]:
    found = [result.entry.called]
    for name in TOLD:
        lines: dict[str, list[str]] = {}
        for kind in result.told["kinds"]:
            if (line := _conventions(result, kind).get(name)) is not None:
                lines.setdefault(_short(line.replace("refused: ", "refused. ").partition(". ")[0]), []).append(kind)
        found.append("; ".join(f"{line} ({', '.join(k)})" if len(lines) > 1 else line for line, k in lines.items()))
    return tuple(found)


def _short(line: str, most: int = 110) -> str:
    line = line.replace("|", "/").replace("<", "‹").replace(">", "›")
    return line if len(line) <= most else line[: most - 1] + "…"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = [*rows]
    if not body:
        return ""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
