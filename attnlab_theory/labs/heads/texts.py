"""The text that the heads read, with its labels if it has any."""

import dataclasses
from pathlib import Path

import numpy as np
from jaxtyping import Int

from attnlab_theory.labs.heads.results import Tell
from attnlab_theory.labs.sentences import read_sentences
from attnlab_theory.language.corpora.reviews import Sizes, drawn, read_reviews, read_unlabelled


@dataclasses.dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences, and their labels if they have any."""

    sentences: tuple[str, ...]
    labels: Int[np.ndarray, " sentences"] | None = None
    source: str
    """Its name in error messages."""


def text_of(path: Path | None, *, labelled: bool, sentences: int, seed: int, tell: Tell = lambda _: None) -> Text:
    """The first sentences of a file. Without a file, the test sentences of the review lab.

    Args:
        path: of a file with one sentence on each line.
        labelled: whether each line has a label, 0 or 1, in one of the forms of `read_reviews`.
        sentences: the most that are read.
        seed: of reviews from the grammar.
        tell: called with a line if a table is read, or if labels are left out.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or a line lacks its label.
    """
    if path is None:
        reviews = drawn(seed, dataclasses.replace(Sizes(), test=sentences))[2]
        return Text(sentences=reviews.texts, labels=reviews.targets, source="the embedded grammar of reviews")
    if labelled:
        reviews = read_reviews(path)
        return Text(sentences=reviews.texts[:sentences], labels=reviews.targets[:sentences], source=str(path))
    found = read_unlabelled(path)
    if found.table:
        tell(f"{found.left_out}; --labelled reads labels")
        return Text(sentences=tuple(filter(None, found.texts))[:sentences], source=str(path))
    if found.left_out is not None:
        tell(f"{path}: every line begins with a label, which is read as a word; --labelled reads labels")
    return Text(sentences=read_sentences(path)[:sentences], source=str(path))
