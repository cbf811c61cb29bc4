"""The reviews of a run, from files or from the embedded grammar, and the rows of tokens that a model reads."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from attnlab_theory.language.corpora import labelled_grammar, spaces
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.corpora.labelled_grammar import LabelledGrammar
from attnlab_theory.language.corpora.reviews import Reviews, Sizes, drawn, read_reviews
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.language.text.words import Words
from attnlab_theory.plurals import agree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Material:
    """Reviews for training, for validation, which chooses between models, and for the test."""

    train: Reviews
    validation: Reviews
    test: Reviews
    text: OfSentences
    grammar: LabelledGrammar | None = None
    """The languages from which the reviews were drawn, if they are known."""
    source: str = "the embedded grammar"
    """Its name in error messages."""


def generated(seed: int, sizes: Sizes) -> Material:
    """Reviews of the embedded grammar.

    Args:
        seed: of all reviews.
        sizes: how many there are.
    """
    language = labelled_grammar.embedded()
    train, validation, test = drawn(seed, sizes)
    return Material(
        train=train,
        validation=validation,
        test=test,
        text=Words(tuple(sorted(language.words))),
        grammar=language,
    )


def read(train: Path, validation: Path, test: Path, *, text: OfSentences | None = None, least: int = 3) -> Material:
    """Reviews of three files, in the forms that `read_reviews` reads.

    Args:
        train, validation, test: the files.
        text: the vocabulary of an existing model. None: the words of TRAIN.
        least: words that occur less often in TRAIN are read as <UNK>.

    Raises:
        ValueError: if a file is missing or broken, or all reviews of TRAIN have one label. With words as tokens,
            also if most reviews have no spaces between words.
    """
    reviews = read_reviews(train)
    if reviews.majority == 1:
        raise ValueError(
            f"all reviews of {train} have the label {reviews.labels[0]}: nothing can be learned from them"
        )
    if text is None:
        remedy = "put spaces between the words, or take a pretrained model, which has its own"
        spaces.refuse_unspaced(reviews.texts, str(train), remedy)
    return Material(
        train=reviews,
        validation=read_reviews(validation),
        test=read_reviews(test),
        text=Words.of((line.split() for line in reviews.texts), least=least) if text is None else text,
        source=str(train),
    )


@dataclasses.dataclass(frozen=True)
class Encoded:
    """Reviews as rows of tokens, each between BOS and EOS."""

    rows: LabelledBatch
    lengths: Int[np.ndarray, " reviews"]
    """The number of tokens of each review, with both marks."""
    cut: int
    """How many reviews did not fit, and lost their end. EOS stands after the rest."""

    def __len__(self) -> int:
        return len(self.lengths)

    def notes(self, kind: str) -> tuple[str, ...]:
        """A line that counts the reviews that were cut, if there are any. `kind` is their name."""
        return (
            (f"{self.cut} of {len(self)} {kind} did not fit and {agree(self.cut, 'was', 'were')} cut",)
            if self.cut
            else ()
        )


def encoded(reviews: Reviews, text: OfSentences, block: int) -> Encoded:
    """Reviews as a model reads them.

    Args:
        reviews: at least one.
        text: their vocabulary.
        block: the most places of a row.

    Raises:
        ValueError: if the block has no room for a token between the marks, or a review has no token.
    """
    if not block > 2:
        raise ValueError(
            f"a row of {block} places has no room for a token between its two marks: take a longer block"
        )
    tokens, cut = [], 0
    for number, line in enumerate(reviews.texts, start=1):
        try:
            found = text.encode_text(line)
        except ValueError as error:
            raise ValueError(f"line {number} of {reviews.source}: {error}") from None
        if not len(found):
            raise ValueError(f"line {number} of {reviews.source} has no token; write a review on it")
        cut += len(found) > block - 2
        tokens.append(np.concatenate([[text.bos], found[: block - 2], [text.eos]]))
    rows = batch_of(tokens, text.pad)._replace(labels=reviews.targets.astype(np.int32))
    return Encoded(rows, np.array([len(row) for row in tokens]), cut)


def batch_of(tokens: Sequence[np.ndarray], pad: int) -> LabelledBatch:
    """Rows of tokens, padded to the longest. Their label is 0 until another is known."""
    lengths = np.array([len(row) for row in tokens])
    shape = (len(tokens), int(lengths.max()))
    rows, mask = np.full(shape, pad, np.int32), np.arange(shape[1]) < lengths[:, None]
    rows[mask] = np.concatenate(tokens)
    return LabelledBatch(rows, mask, np.zeros(len(rows), np.int32), np.ones(len(rows), np.float32))
