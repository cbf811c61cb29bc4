"""The text that heads are asked on, with its labels if it has any."""

import dataclasses
from pathlib import Path

import numpy as np
from jaxtyping import Int

from attnlab_theory.labs.sentences import read_sentences
from attnlab_theory.language.corpora.reviews import Sizes, drawn, read_reviews


@dataclasses.dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences, and the label of each where they have one."""

    sentences: tuple[str, ...]
    labels: Int[np.ndarray, " sentences"] | None = None
    source: str
    """What a complaint calls it."""


def text_of(path: Path | None, *, labelled: bool, sentences: int, seed: int) -> Text:
    """The first sentences of a file; without one, those that the review lab tests with.

    Args:
        path: of a file with one sentence a line.
        labelled: whether each line begins with a label, 0 or 1, and a space.
        sentences: how many, at most.
        seed: of reviews from the grammar.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or a line has no label and should.
    """
    if path is None:
        reviews = drawn(seed, dataclasses.replace(Sizes(), test=sentences))[2]
        return Text(sentences=reviews.texts, labels=reviews.targets, source="the embedded grammar of reviews")
    if labelled:
        reviews = read_reviews(path)
        return Text(sentences=reviews.texts[:sentences], labels=reviews.targets[:sentences], source=str(path))
    return Text(sentences=read_sentences(path)[:sentences], source=str(path))
