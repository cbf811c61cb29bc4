"""Labelled reviews, from files with a label and a text on each line, or drawn from the embedded grammar."""

import dataclasses
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Int

from attnlab_theory import refuse
from attnlab_theory.language.corpora import labelled_grammar, layouts
from attnlab_theory.language.corpora.layouts import Layout, Row
from attnlab_theory.language.corpora.text_files import composed, read_text

LABELS = {"0": 0, "1": 1}
"""The labels: 0 blames, 1 praises."""

NAMES = ("unfavourable", "favourable")
"""What the labels are called."""


@dataclasses.dataclass(frozen=True)
class Reviews:
    """Texts and their labels, in the order of the file.

    Raises:
        ValueError: if there is no review, or there are not as many labels as texts.
    """

    texts: tuple[str, ...]
    labels: tuple[int, ...]
    """0 or 1 for each text."""
    source: str = "the embedded grammar"
    """The name of the reviews in error messages."""

    def __post_init__(self) -> None:
        if not self.texts:
            raise ValueError(f"{self.source} has no review; it needs at least one line LABEL text")
        if len(self.texts) != len(self.labels):
            raise ValueError(f"{self.source} has {len(self.texts)} texts and {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def targets(self) -> Int[np.ndarray, " reviews"]:
        """The labels as an array."""
        return np.array(self.labels, np.int64)

    @property
    def majority(self) -> float:
        """The share of the commoner label: the accuracy of a rule that reads nothing."""
        favourable = float(np.mean(self.targets))
        return max(favourable, 1 - favourable)

    def take(self, places: Iterable[int]) -> "Reviews":
        """Some of the reviews, in the order of their places."""
        chosen = list(places)
        texts = tuple(self.texts[place] for place in chosen)
        return Reviews(texts, tuple(self.labels[place] for place in chosen), self.source)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many reviews are drawn from the grammar."""

    train: int = 2000
    validation: int = 500
    test: int = 2000

    def __post_init__(self) -> None:
        refuse.not_a_size(**vars(self))


def drawn(seed: int, sizes: Sizes) -> tuple[Reviews, Reviews, Reviews]:
    """Training, validation and test reviews of the embedded grammar.

    Args:
        seed: all reviews follow from it.
        sizes: how many there are.
    """
    language = labelled_grammar.embedded()
    rng = random.Random(f"reviews {seed}")

    def some(number: int) -> Reviews:
        pairs = [language.sample(rng) for _ in range(number)]
        return Reviews(tuple(" ".join(words) for _, words in pairs), tuple(label for label, _ in pairs))

    return some(sizes.train), some(sizes.validation), some(sizes.test)


def read_reviews(path: Path) -> Reviews:
    """The reviews of a file, a line for each. Empty lines at its end are dropped.

    A line is LABEL text, with a space or a tab between them, or a row of a table with tabs, as in GLUE. A table
    may have headings. Its label stands first or last. An index is left out.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or a line is no review. Also if labels are missing
            or hidden, or there are more than two. The message has the line's number.

    Source: the format of Kim 2014, `stsa.binary.train` and its like; that of GLUE, Wang et al. 2019.
    """
    layout, rows = _rows_of(path)
    if not rows:
        raise ValueError(f"{path} has headings and no review")
    if not any(row.label is not None or not row.text for row in rows):
        raise ValueError(
            f"{path} has no labels, or hides them as {layouts.HIDDEN}: attnlab reviews predict labels its lines"
        )
    for row in rows:
        _refuse_no_review(row, layout, path)
    return Reviews(tuple(row.text for row in rows), tuple(LABELS[str(row.label)] for row in rows), str(path))


def has_labels(path: Path) -> bool:
    """Whether a file of reviews has labels. A test file may keep them secret.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8.
    """
    return any(row.label is not None or not row.text for row in _rows_of(path)[1])


def _rows_of(path: Path) -> tuple[Layout, list[Row]]:
    lines = composed(read_text(path)).rstrip().split("\n")
    layout = (layouts.layout_of(lines, str(path)) if "\t" in lines[0] else None) or layouts.PLAIN
    return layout, layout.rows(lines, str(path))


def _refuse_no_review(row: Row, layout: Layout, path: Path) -> None:
    if row.label in layouts.MARKS and row.label not in LABELS:
        raise ValueError(
            f"line {row.line} of {path} has the label {row.label}, and a label is 0 or 1; of five labels make two: "
            f"{layout.two_labels.replace('FILE', str(path))}"
        )
    if row.label not in LABELS:
        written = layouts.HIDDEN if row.label is None and row.text else row.label or ""
        where = "must have" if layout.tabs else "must begin with"
        raise ValueError(f"line {row.line} of {path} {where} the label 0 or 1 and a space, not {written!r}")
    if not row.text:
        raise ValueError(f"line {row.line} of {path} has the label {row.label} and no text; write one after it")


@dataclasses.dataclass(frozen=True)
class Lines:
    """Texts without labels, in the order of a file."""

    texts: tuple[str, ...]
    left_out: str | None = None
    """A line about parts of the file that are not text and were left out. None if nothing was."""
    table: bool = False
    """Whether the file is a table with tabs."""


def read_unlabelled(path: Path) -> Lines:
    """The texts of a file, without labels. Empty texts stay, so that answers stand on the same lines.

    Raises:
        ValueError: if the file is missing, not UTF-8, a broken table, or has nothing but empty lines.
    """
    lines = composed(read_text(path)).split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    layout = layouts.layout_of(lines, str(path))
    if layout is None:
        return Lines(tuple(map(str.strip, lines)))
    while not lines[-1].strip():
        lines.pop()
    texts = tuple(row.text for row in layout.rows(lines, str(path)))
    if not layout.tabs:
        return Lines(texts, f"{path}: every line begins with a label, which was left out")
    column = layout.headings[layout.text] if layout.headings else f"column {layout.text + 1}"
    return Lines(
        texts, f"{path} is a table with tabs: its texts are {column}, and the rest was left out", table=True
    )
