"""Layouts of files of labelled texts: a label before the text, or a table with tabs, as in GLUE.

A table may have a line of headings and a column of indices. Its label stands first or last, and may be hidden as
-1.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

TEXTS = ("sentence", "text", "review", "phrase", "content")
"""Headings of a column of texts, the likeliest first."""

LABELS = ("label", "labels", "sentiment", "class", "target", "polarity")
"""Headings of a column of labels."""

INDICES = ("index", "idx", "id", "sentenceid", "phraseid", "")
"""Headings of a column that counts lines."""

HIDDEN = "-1"
"""How a file writes a label that is kept secret."""

MARKS = (HIDDEN, "0", "1", "2", "3", "4")
"""Values of a column of labels: of two kinds or of five, or hidden."""


class Row(NamedTuple):
    """One text."""

    line: int
    """Its line in the file, from 1."""
    label: str | None
    """The label as the file writes it. None if there is none, or it is hidden."""
    text: str


@dataclasses.dataclass(frozen=True)
class Layout:
    """The places of label and text in a line."""

    tabs: bool
    """Whether tabs separate columns. Else the first space separates label and text."""
    text: int = 1
    """The column of the text, from 0."""
    label: int | None = 0
    """The column of the label, if there is one."""
    columns: int = 2
    headings: tuple[str, ...] = ()
    """The headings, if the first line has them."""

    @property
    def two_labels(self) -> str:
        """The command that makes two labels of five. It leaves out the middle one."""
        column = "$1" if self.label is None else f"${self.label + 1}"
        tab = "-F'\\t' -v OFS='\\t' " if self.tabs else ""
        kept = "NR == 1 || " if self.headings else ""
        change = f"{'NR > 1 ' if self.headings else ''}{{{column} = ({column} > 2)}}"
        return f"awk {tab}'{kept}{column} != 2' FILE | awk {tab}'{change} 1'"

    def rows(self, lines: Sequence[str], source: str) -> list[Row]:
        """The texts of a file.

        Args:
            lines: all of them, headings too.
            source: the name of the file.

        Raises:
            ValueError: naming a line with another number of columns.
        """
        found = []
        for number, line in enumerate(lines, 1):
            if number == 1 and self.headings:
                continue
            parts = line.split("\t") if self.tabs else line.strip().split(None, 1)
            if self.tabs and len(parts) != self.columns:
                raise ValueError(
                    f"line {number} of {source} has {len(parts) - 1} tabs, and line 1 has {self.columns - 1}: "
                    "write them alike"
                )
            parts = [part.strip() for part in parts]
            label = parts[self.label] if self.label is not None and self.label < len(parts) else None
            text = parts[self.text] if self.text < len(parts) else ""
            found.append(Row(number, None if label == HIDDEN else label, text))
        return found


PLAIN = Layout(tabs=False)
"""LABEL text."""


def layout_of(lines: Sequence[str], source: str) -> Layout | None:
    """The layout of a file that may hold labels. None if each line is a text and nothing else.

    Args:
        lines: of the file, at least one.
        source: the name of the file.

    Raises:
        ValueError: if it has headings, but none for a text.
    """
    if "\t" not in lines[0] or all(_begins_with_label(line, tabs=False) for line in lines):
        return PLAIN if all(_begins_with_label(line) for line in lines) else None
    first = tuple(part.strip() for part in lines[0].split("\t"))
    named = [heading.lower() for heading in first]
    known = (*TEXTS, *LABELS, *INDICES[:-1])
    if sum(heading in known for heading in named) * 2 >= len(named) and not any(h in MARKS for h in named):
        text = next((named.index(heading) for heading in TEXTS if heading in named), None)
        if text is None:
            raise ValueError(
                f"{source} has the headings {', '.join(first)}: one of them must be {', '.join(TEXTS)}"
            )
        label = next((at for at, heading in enumerate(named) if heading in LABELS), None)
        return Layout(tabs=True, text=text, label=label, columns=len(first), headings=first)
    return _by_values(lines, len(first))


def _by_values(lines: Sequence[str], columns: int) -> Layout:
    """The layout of a table without headings. Labels are few and small; the longest column is the text."""
    table = [line.split("\t") for line in lines]
    cells = [[row[at].strip() for row in table if len(row) == columns] for at in range(columns)]
    text = max(range(columns), key=lambda at: sum(map(len, cells[at])))
    labels = [at for at in range(columns) if at != text and all(cell in MARKS for cell in cells[at])]
    return Layout(tabs=True, text=text, label=labels[-1] if labels else None, columns=columns)


def _begins_with_label(line: str, *, tabs: bool = True) -> bool:
    parts = line.split(None, 1)
    return len(parts) == 2 and parts[0] in MARKS and (tabs or line.lstrip()[len(parts[0])] != "\t")
