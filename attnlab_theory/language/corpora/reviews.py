"""Labelled reviews: from files, on each line a label, a space and the text; or drawn from the embedded grammar."""

import dataclasses
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Int

from attnlab_theory import refuse
from attnlab_theory.language.corpora import labelled_grammar
from attnlab_theory.language.corpora.reading import read_text

LABELS = {"0": 0, "1": 1}
"""0 blames, 1 praises."""

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
    """What a complaint calls them."""

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
    """Reviews of the embedded grammar to learn, to choose by and to ask at the end.

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
    """The reviews of a file with a line LABEL text for each; empty lines at its end are dropped.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or a line is no review; with the line's number.

    Source: the format of Kim 2014, `stsa.binary.train` and its like.
    """
    texts, labels = [], []
    for number, line in enumerate(read_text(path).rstrip().split("\n"), start=1):
        label, _, text = line.strip().partition(" ")
        if label not in LABELS:
            raise ValueError(f"line {number} of {path} must begin with the label 0 or 1 and a space, not {label!r}")
        if not text.strip():
            raise ValueError(
                f"line {number} of {path} has the label {label} and no text; write the review behind it"
            )
        labels.append(LABELS[label])
        texts.append(text.strip())
    return Reviews(tuple(texts), tuple(labels), str(path))


def read_unlabelled(path: Path) -> tuple[str, ...]:
    """The lines of a file that has no labels, empty ones too, so that answers stand on the same lines.

    Raises:
        ValueError: if the file is missing, holds nothing but empty lines, or is not UTF-8.
    """
    lines = read_text(path).split("\n")
    return tuple(map(str.strip, lines[:-1] if not lines[-1] else lines))
