"""A lab's page is one screen, and every number on it is one that a run wrote."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {
    "captions": "captions",
    "heads": "heads",
    "knowledge": "knowledge",
    "mixers": "mixers",
    "recurrent": "recurrent",
    "reviews": "reviews",
}
"""The folder of figures that a lab's page tells of."""

LINES = 50
"""A screen."""

CONFIDENCE = "95 %"
"""What the intervals of all tables hold with: no number of a run."""

Table = tuple[list[str], list[list[str]]]


def tables(text: str) -> list[Table]:
    """Each table of a document: its headings, and its rows."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        head, _, *rows = block.splitlines()
        found.append(([*map(str.strip, head.strip("|").split("|"))], [row_of(row) for row in rows]))
    return found


def row_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def page(lab: str) -> str:
    return (ROOT / "docs" / f"{lab}.md").read_text("utf-8")


def source(lab: str) -> str:
    return (ROOT / "figures" / SOURCES[lab] / "README.md").read_text("utf-8")


def chosen(table: Table, headings: list[str]) -> set[tuple[str, ...]]:
    """The rows of a table at some of its columns; none if it lacks one of these."""
    head, rows = table
    return {tuple(row[head.index(name)] for name in headings) for row in rows} if {*headings} <= {*head} else set()


def test_a_labs_page_is_one_screen(subtests):
    for lab in SOURCES:
        with subtests.test(lab):
            text = page(lab)
            assert len(text.splitlines()) <= LINES
            assert len(tables(text)) == 1
            assert text.count("![") == 1
            assert text.count("```") == 2
            assert text.splitlines()[0].endswith("?")
            answer, missing = re.findall(r"^\*\*(.+?)\*\*", text, flags=re.MULTILINE)
            assert missing == "Not shown:"
            assert answer.endswith(".")


def test_every_row_of_a_labs_page_is_one_that_a_run_wrote(subtests):
    for lab in SOURCES:
        with subtests.test(lab):
            ((headings, rows),) = tables(page(lab))
            written = set[tuple[str, ...]]().union(*(chosen(table, headings) for table in tables(source(lab))))
            assert {tuple(row) for row in rows} <= written


def test_every_number_in_the_words_of_a_labs_page_is_one_that_a_run_wrote(subtests):
    for lab in SOURCES:
        with subtests.test(lab):
            words = re.sub(
                r"^\|[^\n]*$|\]\([^)]*\)|```.*?```|`[^`]*`", "", page(lab), flags=re.MULTILINE | re.DOTALL
            )
            numbers = set(re.findall(r"\d[\d.,]*\d|\d", words.replace(CONFIDENCE, "")))
            said = re.sub(r"(?<=sentences |predicted )(\d)(\d{3})\b", r"\1,\2", source(lab))
            written = set(re.findall(r"\d[\d.,]*\d|\d", said))
            written |= {each.removeprefix("heads-") for each in re.findall(r"heads-\d+", source(lab))}
            assert numbers <= written
