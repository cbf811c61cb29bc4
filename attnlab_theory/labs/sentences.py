"""The sentences on which labs train, from the embedded grammar or from files, and how a model reads them."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from attnlab_theory import refuse
from attnlab_theory.labs.options import Mean, Unit
from attnlab_theory.language.corpora import grammar
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.language.corpora.text_files import sentences_of
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.language.text.words import Words
from attnlab_theory.plurals import several


@dataclasses.dataclass(frozen=True, kw_only=True)
class Material:
    """Sentences for training, for validation, which stops training, and for the test."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    text: OfSentences
    grammar: Grammar | None = None
    """The language from which the sentences were drawn, if it is known."""
    source: str = "the embedded grammar"
    """Its name in error messages."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many sentences are drawn from a grammar."""

    train: int = 2000
    validation: int = 500
    test: int = 1000

    def __post_init__(self) -> None:
        refuse.not_a_size(**vars(self))


EVENED = 0.5
"""The language of pretraining raises probabilities to this power: the same sentences, other frequencies."""


def generated(seed: int, sizes: Sizes, *, evened: bool = False) -> Material:
    """Sentences of the embedded grammar.

    Args:
        seed: of all sentences.
        sizes: how many there are.
        evened: whether to draw from the language of pretraining, whose probabilities are closer together.
    """
    language = grammar.embedded()
    language = language.evened(EVENED) if evened else language
    rng = random.Random(f"{'evened ' * evened}{grammar.EMBEDDED} {seed}")

    def drawn(number: int) -> tuple[str, ...]:
        return tuple(" ".join(language.sample(rng)) for _ in range(number))

    return Material(
        train=drawn(sizes.train),
        validation=drawn(sizes.validation),
        test=drawn(sizes.test),
        text=Words(tuple(sorted(language.words))),
        grammar=language,
        source="the evened embedded grammar" if evened else "the embedded grammar",
    )


def read(
    train: Path, validation: Path, test: Path, unit: Unit, *, least: int = 3, words: Path | None = None
) -> Material:
    """Sentences of three files, with one on each line.

    Args:
        train, validation, test: the files. Spaces around a line are dropped, and so are empty lines.
        unit: what a token is.
        least: words that TRAIN holds less often are read as <UNK>.
        words: a file with the vocabulary instead, one word on each line.

    Raises:
        ValueError: if a file is missing, empty or not UTF-8, the unit is unknown, or `words` holds no vocabulary.
    """
    sentences = read_sentences(train)
    return Material(
        train=sentences,
        validation=read_sentences(validation),
        test=read_sentences(test),
        text=vocabulary(sentences, unit, least=least) if words is None else _listed(words, unit),
        source=str(train),
    )


def _listed(words: Path, unit: Unit) -> Words:
    if unit != "words":
        raise ValueError(
            f"{words} lists words, and --unit {unit} has a vocabulary of its own: leave one of them out"
        )
    try:
        return Words(read_sentences(words))
    except ValueError as error:
        raise ValueError(f"{words} must list the vocabulary, one word a line: {error}") from None


def read_other(path: Path, text: OfSentences) -> Material:
    """The sentences of a text for pretraining. The last tenth of them is for validation.

    Args:
        path: the file.
        text: the vocabulary of the sentences that are learned afterwards.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or has fewer than ten sentences.
    """
    sentences = read_sentences(path)
    kept = len(sentences) // 10
    if not kept:
        raise ValueError(f"{path} has {several(len(sentences), 'sentence')}; pretraining needs at least ten")
    asked = sentences[-kept:]
    return Material(train=sentences[:-kept], validation=asked, test=asked, text=text, source=str(path))


def read_sentences(path: Path) -> tuple[str, ...]:
    """The lines of a file that are not empty, without spaces at their ends, and in Unicode's composed form.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or is a table or JSON.
    """
    return tuple(filter(None, map(str.strip, sentences_of(path).split("\n"))))


def read_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file, empty ones too, without spaces at their ends, and in Unicode's composed form.

    Raises:
        ValueError: if the file is missing, holds nothing but empty lines, is not UTF-8, or is a table or
            JSON.
    """
    lines = sentences_of(path).split("\n")
    return tuple(map(str.strip, lines[:-1] if not lines[-1] else lines))


def vocabulary(sentences: Sequence[str], unit: Unit, *, least: int = 3) -> OfSentences:
    """The vocabulary of sentences.

    Args:
        sentences: with spaces between words.
        unit: what a token is.
        least: words that occur less often are read as <UNK>.

    Raises:
        ValueError: if the unit is unknown, or there are no words.
    """
    if unit not in get_args(Unit):
        raise ValueError(f"a unit is one of {', '.join(get_args(Unit))}, not {unit!r}")
    return BPE() if unit == "bpe" else Words.of(map(str.split, sentences), least=least)


@dataclasses.dataclass(frozen=True)
class Encoded:
    """Sentences as rows of tokens: x begins with BOS, y ends with EOS."""

    rows: Batch
    """One sentence in each row, with weights."""
    lengths: np.ndarray
    """The number of targets of each sentence: its tokens and its EOS."""
    cut: int
    """How many sentences did not fit, and lost their end and EOS."""

    def __len__(self) -> int:
        return len(self.lengths)

    def epoch(self, number: int, /) -> Batch:
        """All sentences, the same in every epoch."""
        return self.rows


def encoded(
    sentences: Sequence[str],
    text: OfSentences,
    block: int,
    *,
    mean: Mean = "sentences",
    source: str = "the text",
) -> Encoded:
    """Sentences as a model reads them.

    Args:
        sentences: at least one.
        text: their vocabulary.
        block: places in a row. A sentence takes one more place than it has tokens, or is cut.
        mean: whether sentences or tokens have equal weights in the loss.
        source: the name of the sentences in error messages.

    Raises:
        ValueError: if there is no sentence, or one has no token.
    """
    if not sentences:
        raise ValueError(f"{source} has no sentence; it needs at least one")
    shape = (len(sentences), block)
    x, y, weights = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    lengths, cut = np.zeros(len(sentences), np.int64), 0
    for number, sentence in enumerate(sentences):
        try:
            tokens = text.encode_text(sentence)
        except ValueError as error:
            raise ValueError(f"sentence {number + 1} of {source}: {error}") from None
        if not len(tokens):
            raise ValueError(f"sentence {number + 1} of {source} has no token; take it out")
        cut += len(tokens) >= block
        whole = np.concatenate([[text.bos], tokens, [text.eos]])[: block + 1]
        size = len(whole) - 1
        x[number, :size], y[number, :size] = whole[:-1], whole[1:]
        weights[number, :size] = 1 / size if mean == "sentences" else 1
        lengths[number] = size
    return Encoded(Batch(x, y, weights=weights), lengths, cut)
