"""The board as a page, made of the JSON files and of what the catalogue knows of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnlab_theory.conform.peers.cells import (
    COMMAND,
    Cell,
    Red,
    Result,
    agreement,
    cell_of,
    columns,
    conventions,
    parts,
    paths_of,
    reds,
)

ALIGNMENT = "more keys than queries"
"""The line of a profile that says where queries stand."""

TOLD = (
    *(ALIGNMENT, "early queries", "blind rows", "hidden keys", "hidden NaN"),
    *("float64", "float16", "bfloat16", "old cache", "empty batch"),
)
"""What may be a convention, in the order of the page's table."""


def _cells(result: Result, found: Sequence[Result]) -> list[tuple[str, Cell]]:
    return [
        *((kind, cell_of(result, kind)) for kind in result.told["kinds"]),
        ("paths", paths_of(result, found)),
    ]


def page(found: Sequence[Result]) -> str:
    """The page, in Markdown.

    Raises:
        ValueError: if a failure has no snippet that shows it.
    """
    failures = reds(found)
    seconds = sum(result.told["core_seconds"] for result in found)
    failing = {red.result.entry.name for red in failures}
    written = [
        f"<!-- Written by {COMMAND} from the JSON files of this folder. Changes are lost. -->",
        "# Do other libraries keep what they promise?",
        f"```\n{COMMAND}\n```",
        f"{len(found)} entry points of {len({r.entry.library for r in found})} libraries. {len(failing)} of them "
        f"fail somewhere. [docs/peers.md](../../docs/peers.md) says how to read this page. All of it took "
        f"{seconds / 60:.0f} minutes of one core.",
        "![the board](board.svg)",
        *(_board(part, found) for part in parts(found)),
        "–: not judged. Most of these have no argument of their own for that; some have one, and were not tried. "
        "no mask: it was called without a mask, so nobody asked what becomes of a row without visible keys. "
        "as documented: something fails, and the library says or shows that it means to; the section of that name "
        "has the place. "
        "paths: two ways through one object. *: there is a note below.",
        _table(
            ("note on", "as", "says"),
            ((r.entry.called, kind, note) for r in found for kind, note in r.entry.notes.items()),
        ),
        "## What fails",
        "These lines of Python were run without attnlab, in the environment of the library. They ended with the "
        "error that is printed below them. Tolerances are "
        "[derived](../../docs/conform.md#where-the-numbers-come-from). They are wide for float16, and tiny where "
        "the right answer is 0.",
        *_failures(failures),
        "## What fails as documented",
        _table(("entry point", "as", "identities", "found", "documented"), _documented(found)),
        "## Conventions",
        "A convention is a choice, and no failure. A blind row is a query that sees no key. Its convention fails "
        "in two cases: it reads what comes after it or stands outside of its window, or two ways through one "
        "object choose differently. "
        "An early query stands before the first key, in a call with more queries than keys. Zeros, NaN and an "
        "error are choices. Reading a key is a failure, for all keys come after it. "
        "An empty cell has nothing to tell. Where kinds differ, all are named.",
        _table(("entry point", *TOLD), (_told(result) for result in found)),
        "## Versions",
        _table(
            ("entry point", "file", "Python", "numpy", "kinds", "calls", "largest error", "core seconds"),
            (
                (
                    result.entry.name,
                    f"[JSON]({result.entry.name}-{result.told['version']}.json)",
                    result.told["python"],
                    result.told["numpy"],
                    str(len(result.told["kinds"])),
                    str(sum(each.get("calls", 0) for each in result.told["kinds"].values())),
                    f"{_largest(result):.2g}",
                    f"{result.told['core_seconds']:.0f}",
                )
                for result in found
            ),
        ),
        "The largest error is that of a right answer, over its tolerance.",
    ]
    return "\n\n".join(part for part in written if part) + "\n"


def _board(rows: Sequence[Result], found: Sequence[Result]) -> str:
    """Some entry points by the kinds that they have."""
    shown = columns(rows)
    body = []
    for result in rows:
        cells = [(kind, cell_of(result, kind)) for kind in shown]
        told = (cell.text + cell.much + "*" * (kind in result.entry.notes) for kind, cell in cells)
        body.append((result.entry.called, result.told["version"], *told, agreement(paths_of(result, found))))
    return _table(("entry point", "version", *shown, "paths"), body)


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
            yield f"**{red.kind}, {red.row['name']}**: {_short(red.row['line'], 300)}"
        yield from filter(None, dict.fromkeys(red.said("remarks") for red in group))
        yield from (
            f"Public: {thread}." for thread in dict.fromkeys(red.said("threads") for red in group) if thread
        )
        yield f"```python\n{lines}\n```"
        yield f"`{group[0].row['snippet']['output']}`"


def _documented(found: Sequence[Result]) -> Iterable[Sequence[str]]:
    """A line for each place that documents something, with what is furthest off."""
    for result in found:
        by_place: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for kind, cell in _cells(result, found):
            for row, place in cell.documented:
                by_place.setdefault(place, []).append((kind, row))
        for place, rows in by_place.items():
            kinds, names = (dict.fromkeys(each) for each in ((k for k, _ in rows), (r["name"] for _, r in rows)))
            worst = max((row for _, row in rows), key=lambda row: row["tolerances"] or 0)
            yield (result.entry.called, ", ".join(kinds), ", ".join(names), _short(worst["line"]), place)


def _told(result: Result) -> tuple[str, ...]:
    found = [result.entry.called]
    for name in TOLD:
        lines: dict[str, list[str]] = {}
        for kind, judged in result.told["kinds"].items():
            line = judged["profile"].get(name) if name == ALIGNMENT else conventions(result, kind).get(name)
            if line is not None:
                lines.setdefault(_short(_words(name, line)), []).append(kind)
        found.append("; ".join(f"{line} ({', '.join(k)})" if len(lines) > 1 else line for line, k in lines.items()))
    return tuple(found)


def _words(name: str, line: str) -> str:
    """What of a convention is worth a cell: the choice, without numbers that each kind has for itself."""
    if name == "hidden keys":
        return "; ".join(each.replace("finite: ", "") for each in line.split("; ") if "finite: " in each)
    if name == "hidden NaN" and line.startswith("reaches the output"):
        return f"reaches the output from {'keys and values' if 'in a key' in line else 'values'}"
    if name == ALIGNMENT and line.startswith("square"):
        return line.partition(": ")[2] or "refused"
    if line.startswith(("refused: ", "computed in float32: ")):
        return line.partition(": ")[0]
    return line.partition(". ")[0]


def _short(line: str, most: int = 110) -> str:
    line = line if len(line) <= most else line[: most - 1] + "…"
    return line.replace("|", "/").replace("<", "&lt;")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = [*rows]
    if not body:
        return ""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
