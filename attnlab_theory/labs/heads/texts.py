"""The text that heads are asked on."""

import dataclasses
from pathlib import Path

from attnlab_theory.labs.sentences import read_sentences
from attnlab_theory.language.corpora.reviews import Sizes, drawn


@dataclasses.dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences."""

    sentences: tuple[str, ...]
    source: str
    """What a complaint calls it."""


def text_of(path: Path | None, *, sentences: int, seed: int) -> Text:
    """The first sentences of a file; without one, those that the review lab tests with.

    Args:
        path: of a file with one sentence a line.
        sentences: how many, at most.
        seed: of reviews from the grammar.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8.
    """
    if path is None:
        reviews = drawn(seed, dataclasses.replace(Sizes(), test=sentences))[2]
        return Text(sentences=reviews.texts, source="the embedded grammar of reviews")
    return Text(sentences=read_sentences(path)[:sentences], source=str(path))
