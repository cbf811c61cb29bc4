"""Explanations of single lines: how each token speaks for the label."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special
from jaxtyping import Float

from attnlab_theory.labs.reviews.answers import log_odds
from attnlab_theory.labs.reviews.explanations import scored
from attnlab_theory.labs.reviews.faithfulness import blank_of, chosen
from attnlab_theory.labs.reviews.material import Encoded
from attnlab_theory.language.corpora.reviews import NAMES
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.text.subwords import Subwords
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.language.text.words import Words

RANDOM = 20
"""How many draws of random tokens the probability is averaged over."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """One line, the model's answer about it, and the scores of its tokens."""

    text: str
    probability: float
    """The probability of label 1."""
    tokens: tuple[str, ...]
    scores: dict[str, Float[np.ndarray, " tokens"]]
    """The scores, by explanation. Gradient and leave-one-out are positive for label 1. Rollout has no sign."""
    top: dict[str, tuple[int, ...]]
    """The places of the tokens with the largest scores."""
    without: dict[str, float]
    """The probability of label 1 if those tokens are covered. `random`: the mean over as many random tokens."""

    @property
    def label(self) -> int:
        """The label that the model answers."""
        return int(self.probability > 0.5)

    def as_json(self) -> dict[str, Any]:
        """All fields, token by token."""
        tokens = [
            {"token": token, **{name: float(scores[place]) for name, scores in self.scores.items()}}
            for place, token in enumerate(self.tokens)
        ]
        told = {"text": self.text, "label": self.label, "probability": self.probability}
        return {**told, "tokens": tokens, "top": self.top, "probability_without": self.without}

    def page(self) -> str:
        """The scores as text: a row for each token, and a star at each that is covered."""
        width = max(16, *map(len, self.tokens))
        rows = [
            f"{token:{width}}" + "".join(self._cell(name, place) for name in self.scores)
            for place, token in enumerate(self.tokens)
        ]
        covered = "".join(f" {self.without[name]:>13.3f} " for name in self.scores)
        return "\n".join(
            [
                f"{NAMES[self.label]}, probability of label 1: {self.probability:.3f}   {self.text}",
                f"{'':{width}}" + "".join(f" {name:>13} " for name in self.scores),
                *rows,
                f"{'without *':{width}}{covered}  without random ones: {self.without['random']:.3f}",
            ]
        )

    def _cell(self, name: str, place: int) -> str:
        return f" {self.scores[name][place]:>+13.3f}{'*' if place in self.top[name] else ' '}"


def explain(
    model: Classifier, text: OfSentences, lines: Sequence[str], asked: Encoded, *, seed: int = 0
) -> tuple[Line, ...]:
    """Score every token of every line.

    Args:
        model: any that this lab trained.
        text: the vocabulary that it reads.
        lines: the texts.
        asked: the same texts as rows of tokens. Their labels are not read.
        seed: of the random tokens that are covered for comparison.

    Raises:
        ValueError: if the vocabulary has neither a mask nor an unknown word.
    """
    ask = functools.partial(log_odds, model)
    tokens, blank = np.asarray(asked.rows.tokens), np.int32(blank_of(text))

    def without(hidden: np.ndarray) -> Float[np.ndarray, " reviews"]:
        return scipy.special.expit(ask(asked.rows._replace(tokens=np.where(hidden, blank, tokens))))

    scores = scored(model, asked, pad=text.pad)
    top = {name: chosen(asked, each) for name, each in scores.items()}
    covered = {name: without(hidden) for name, hidden in top.items()}
    rng = np.random.default_rng(seed)
    draws = [
        without(chosen(asked, tuple(rng.random(length - 2) for length in asked.lengths))) for _ in range(RANDOM)
    ]
    covered["random"] = np.mean(draws, axis=0)
    whole = scipy.special.expit(ask(asked.rows))
    return tuple(
        Line(
            text=line,
            probability=float(whole[row]),
            tokens=names_of(text, tokens[row, 1 : asked.lengths[row] - 1]),
            scores={name: each[row] for name, each in scores.items()},
            top={name: tuple((np.flatnonzero(hidden[row]) - 1).tolist()) for name, hidden in top.items()},
            without={name: float(each[row]) for name, each in covered.items()},
        )
        for row, line in enumerate(lines)
    )


def names_of(text: OfSentences, ids: Sequence[int] | np.ndarray) -> tuple[str, ...]:
    """The text of each token.

    Raises:
        ValueError: if the vocabulary has no texts of single tokens.
    """
    if isinstance(text, Words):
        return tuple(text.decode(ids))
    if isinstance(text, Subwords):
        return tuple(text.pieces(ids))
    raise ValueError(f"a vocabulary of {text.as_json()['kind']} does not say how its tokens are written")
