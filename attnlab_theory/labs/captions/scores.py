"""Scores of captions against real ones: BLEU both ways, openings, repetitions."""

import dataclasses
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from attnlab_theory.language.text.bleu import References, Sentence, sentence_bleu

OPENING = 2
"""How many first tokens make the opening of a sentence."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one set of generated sentences."""

    forward: float
    """The mean BLEU-4 of generated sentences against all real ones: are they well formed?"""
    backward: float
    """The mean BLEU-4 of real sentences against all generated ones: are all real ones covered?"""
    commonest_opening: float
    """The share of sentences that begin with the commonest opening of two tokens."""
    openings: int
    """The number of different openings."""
    distinct: float
    """The share of sentences that differ from all before them."""
    repeating: float
    """The share of sentences in which three tokens in a row come twice."""

    @property
    def harmonic(self) -> float:
        """The harmonic mean of forward and backward BLEU."""
        both = self.forward + self.backward
        return 2 * self.forward * self.backward / both if both else 0.0


def scores(generated: Sequence[Sentence], real: Sequence[Sentence], references: References) -> Scores:
    """Compare generated sentences with real ones.

    Args:
        generated, real: tokens.
        references: made from `real`, once for many calls.

    Raises:
        ValueError: if there is no sentence of one kind.
    """
    for name, sentences in {"generated": generated, "real": real}.items():
        if not len(sentences):
            raise ValueError(f"scores need at least one {name} sentence")
    begun = openings(generated)
    return Scores(
        forward=float(np.mean(sentence_bleu(generated, references))),
        backward=float(np.mean(sentence_bleu(real, References(generated)))),
        commonest_opening=max(begun.values()) / len(generated),
        openings=len(begun),
        distinct=len(set(map(tuple, generated))) / len(generated),
        repeating=float(np.mean([bool(repeated(sentence)) for sentence in generated])),
    )


def openings(sentences: Sequence[Sentence]) -> Counter[tuple[Hashable, ...]]:
    """The number of sentences with each opening."""
    return Counter(tuple(sentence[:OPENING]) for sentence in sentences)


def repeated(sentence: Sentence, order: int = 3) -> set[int]:
    """The places of tokens in n-grams that stand in the sentence twice."""
    grams = [tuple(sentence[start : start + order]) for start in range(len(sentence) - order + 1)]
    counts = Counter(grams)
    return {start + place for start, gram in enumerate(grams) if counts[gram] > 1 for place in range(order)}
