"""Answers that miss the place by what nobody sees, and answers that hold it among other words."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
from attnlab_theory.language.text.characters import PAD

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
"""Characters without width, which no reader sees."""


def but_for_spaces(predictions: Sequence[str], questions: Questions) -> Bool[np.ndarray, " n"]:
    """Which predictions are the place but for spaces, padding, and Unicode's two ways to write an accent.

    Args:
        predictions: one for each question; those that are right letter for letter count too.
        questions: with their places.

    Raises:
        ValueError: if the questions have no places.
    """
    pairs = zip(predictions, questions.answers, strict=True)
    return np.array([_seen(said) == _seen(place) for said, place in pairs], bool)


def holding(predictions: Sequence[str], questions: Questions) -> Bool[np.ndarray, " n"]:
    """Which predictions hold the place as whole words, among others or alone; args, raises as `but_for_spaces`."""
    pairs = zip(predictions, questions.answers, strict=True)
    return np.array([_holds(_seen(said), _seen(place)) for said, place in pairs], bool)


def remarks(predictions: Sequence[str], questions: Questions, *, who: str) -> list[str]:
    """What a count of exact answers does not say: a line for either kind of near answers that there is.

    Args:
        predictions, questions: as `but_for_spaces`.
        who: whose predictions they are.
    """
    right = np.array([*map(str.__eq__, predictions, questions.answers)], bool)
    near, held = but_for_spaces(predictions, questions), holding(predictions, questions)
    said = []
    if missed := int((near & ~right).sum()):
        said.append(
            f"{who}: {missed} more would match but for spaces, padding ({PAD}) or accents that are written apart."
        )
    if (held & ~near).any():
        said.append(f"{who}: {int(held.sum())} of {len(right)} lines hold the place, alone or among other words.")
    return said


def _seen(text: str) -> str:
    """What a reader sees: one space between words, none around them, and accents as one character."""
    composed = unicodedata.normalize("NFC", text.translate(INVISIBLE))
    return " ".join(composed.rstrip(f"{PAD} ").split())


def _holds(said: str, place: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(place)}(?!\w)", said) is not None
