"""What the board says of other libraries, as tables. The wheel has the committed board."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("board.json")
"""The committed board, which the wheel has."""

TEXTS = {
    "holds": "holds",
    "unmasked": "holds, no mask",
    "bug": "FAILS",
    "biased": "biased",
    "undefined": "undefined by the library",
    "documented": "as documented",
}
"""What a table says for the word of a cell."""

LEGEND = (
    "–: not judged. Most of these have no argument of their own for that; some have one, and were not tried. "
    "no mask: it was called without a mask, so nobody asked what becomes of a row without visible keys. "
    "undefined by the library: a query that sees no key reads hidden ones, and the library says nothing of such "
    "queries. "
    "biased: the mean of random draws is not what is promised. "
    "called: every trial call ends with an error. "
    "as documented: something fails, and the library says or shows that it means to. "
    "paths: two ways through one object. *: there is a note below."
)


def committed() -> dict[str, Any]:
    """The committed board, from the wheel."""
    return json.loads(FILE.read_text("utf-8"))


def is_checkout() -> bool:
    """Whether the folder `board`, which judges, lies beside this package."""
    return (Path(__file__).parents[2] / "board" / "entries").is_dir()


def with_word(board: Mapping[str, Any], word: str) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    """The cells with a word: entry point, column and cell."""
    for part in board["parts"]:
        for entry in part["entries"]:
            for column in part["columns"]:
                if (cell := entry["cells"].get(column)) and cell["word"] == word:
                    yield entry, column, cell


def first_screen(board: Mapping[str, Any]) -> list[str]:
    """Which cells a maintainer would call a bug, and how many are something else."""
    bugs, biased, undefined = ([*with_word(board, word)] for word in ("bug", "biased", "undefined"))
    entries = [entry for part in board["parts"] for entry in part["entries"]]
    libraries = {entry["library"] for entry in entries}
    return [
        f"{len(entries)} entry points of {len(libraries)} libraries. A maintainer would call {len(bugs)} cells a "
        "bug:",
        table(
            ("entry point", "version", "as", "what fails", "issue"),
            ((e["called"], e["version"], column, cell["identity"], links(cell)) for e, column, cell in bugs),
        ),
        f"{len(undefined)} cells are undefined by the library: a query that sees no key reads hidden ones. "
        f"{len(biased)} {'is' if len(biased) == 1 else 'are'} biased: the mean of random draws is off.",
        *(f"{e['called']} is biased. Public: {links(cell, notes=True)}." for e, _, cell in biased),
    ]


def tables(board: Mapping[str, Any]) -> list[str]:
    """All cells, and the notes below them."""
    parts = board["parts"]
    return [
        *(
            table(
                ("entry point", "version", *part["columns"]),
                (
                    (e["called"], e["version"], *(_text(e, name) for name in part["columns"]))
                    for e in part["entries"]
                ),
            )
            for part in parts
        ),
        LEGEND,
        table(
            ("note on", "as", "says"),
            ((e["called"], *note) for part in parts for e in part["entries"] for note in e["notes"].items()),
        ),
    ]


def _text(entry: Mapping[str, Any], column: str) -> str:
    """A cell of a table."""
    cell, note = entry["cells"].get(column), "*" * (column in entry["notes"])
    if cell is None:
        return ("" if column == "paths" else "–") + note
    if column == "paths" and cell["word"] == "holds":
        return "agree"
    text = TEXTS[cell["word"]]
    if cell["word"] == "bug":
        off = f", {cell['tolerances']:,.0f} tolerances" if "tolerances" in cell else ""
        text += f": {cell['identity']}{off}"
    return text + (f"; {links(cell)}" if cell["word"] in ("bug", "biased") else "") + note


def links(cell: Mapping[str, Any], *, notes: bool = False) -> str:
    """Where a failure is discussed in public, or that this is not known."""
    threads = []
    for thread, note in cell["issues"].items():
        repository, _, number = thread.partition("#")
        link = f"[{thread}](https://github.com/{repository}/issues/{number})"
        threads.append(f"{link} ({note})" if notes and note else link)
    return ", ".join(threads) or "no issue known"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; nothing if it has no rows."""
    body = [*rows]
    if not body:
        return ""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def text(board: Mapping[str, Any]) -> str:
    """The board, in Markdown."""
    return "\n\n".join(part for part in (*first_screen(board), *tables(board)) if part)
