"""The board as a page, made of the JSON files and of what the catalogue knows of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnlab_theory.conform.board import first_screen, links, table, tables
from board.cells import COMMAND, Result, Row, cells_of, failures, summary
from board.entry import Category

ALIGNMENT = "more keys than queries"
"""The line of a profile that says where queries stand."""

TOLD = (
    *(ALIGNMENT, "early queries", "blind rows", "hidden keys", "hidden NaN"),
    *("float64", "float16", "bfloat16", "old cache", "empty batch"),
)
"""What may be a convention, in the order of the page's table."""

TITLES = {
    Category.BUG: "What a maintainer would call a bug",
    Category.BIASED: "What is biased",
    Category.UNDEFINED: "What is undefined by the library",
}
"""The headings of failures, by their category."""


def page(found: Sequence[Result]) -> str:
    """The page, in Markdown.

    Raises:
        ValueError: if a failure has no snippet that shows it, or no category.
    """
    failing = failures(found)
    board = summary(found)
    seconds = sum(result.told["core_seconds"] for result in found)
    by_word = {word: [each for each in failing if each[2].word == word] for word in TITLES}
    written = [
        f"<!-- Written by {COMMAND} from the JSON files of this folder. Changes are lost. -->",
        "# Do other libraries keep what they promise?",
        *first_screen(board),
        f"`{COMMAND}` makes this page. It took {seconds / 60:.0f} minutes of one core. "
        "[docs/peers.md](../../docs/peers.md) says how to read it.",
        "![the board](board.svg)",
        *tables(board),
        "The snippets below are lines of Python that were run without attnlab, in the environment of the library. "
        "They ended with the error that is printed below them. Tolerances are "
        "[derived](../../docs/conform.md#where-the-numbers-come-from). They are wide for float16, and tiny where "
        "the right answer is 0.",
        *(part for word, rows in by_word.items() if rows for part in (f"## {TITLES[word]}", *_failures(rows))),
        "## What fails as documented",
        table(("entry point", "as", "identities", "found", "documented"), _documented(found)),
        "## Conventions",
        "A convention is a choice, and no failure. A blind row is a query whose keys are all masked. An early "
        "query stands before the first key, in a call with more queries than keys. Zeros, NaN and an error are "
        "choices. Where such a query reads a key that is hidden from it, the cell is undefined by the library. "
        "Where two ways through one object choose differently, `paths` fails. "
        "An empty cell has nothing to tell. Where kinds differ, all are named.",
        table(("entry point", *TOLD), (_told(result) for result in found)),
        "## Versions",
        table(
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


def _largest(result: Result) -> float:
    return max(
        (each.get("largest_error_of_a_right_answer", 0.0) for each in result.told["kinds"].values()), default=0
    )


def _failures(failing: Sequence[tuple[Result, str, Row]]) -> Iterable[str]:
    before = ""
    by_snippet: dict[tuple[str, str], list[tuple[Result, str, Row]]] = {}
    for result, kind, row in failing:
        lines = "\n".join(row.told["snippet"]["lines"])
        by_snippet.setdefault((result.entry.name, lines), []).append((result, kind, row))
    for (name, lines), group in by_snippet.items():
        if name != before:
            yield f"### {group[0][0].name}"
        before = name
        for _, kind, row in group:
            yield f"**{kind}, {row.told['name']}**: {_short(row.told['line'], 300)}"
        known = [row.failure for _, _, row in group if row.failure]
        yield from dict.fromkeys(each.remark for each in known if each.remark)
        for public in dict.fromkeys(links({"issues": each.issues}, notes=True) for each in known):
            yield f"Public: {public}."
        yield f"```python\n{lines}\n```"
        yield f"`{group[0][2].told['snippet']['output']}`"


def _documented(found: Sequence[Result]) -> Iterable[Sequence[str]]:
    """A line for each place that documents something, with what is furthest off."""
    for result in found:
        by_place: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for kind, cell in cells_of(result, found).items():
            for row in cell.rows:
                if row.failure and row.failure.category == Category.DOCUMENTED:
                    by_place.setdefault(row.failure.place, []).append((kind, row.told))
        for place, rows in by_place.items():
            kinds, names = (dict.fromkeys(each) for each in ((k for k, _ in rows), (r["name"] for _, r in rows)))
            worst = max((row for _, row in rows), key=lambda row: row["tolerances"] or 0)
            yield (result.entry.called, ", ".join(kinds), ", ".join(names), _short(worst["line"]), place)


def _told(result: Result) -> tuple[str, ...]:
    found = [result.entry.called]
    for name in TOLD:
        lines: dict[str, list[str]] = {}
        for kind, judged in result.told["kinds"].items():
            rows = (row for row in judged["identities"] if row["verdict"] == "convention")
            briefs = {row["name"]: row.get("brief", row["line"]) for row in rows}
            told = judged["profile"].get(name) if name == ALIGNMENT else briefs.get(name)
            if told is not None:
                lines.setdefault(_short(told), []).append(kind)
        found.append("; ".join(f"{line} ({', '.join(k)})" if len(lines) > 1 else line for line, k in lines.items()))
    return tuple(found)


def _short(line: str, most: int = 110) -> str:
    line = line if len(line) <= most else line[: most - 1] + "…"
    return line.replace("|", "/").replace("<", "&lt;")
