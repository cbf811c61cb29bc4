"""Sentences in which every character is a token."""

import dataclasses

import numpy as np
from jaxtyping import Int

from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.text.words import Words

SPACE = "_"
"""The token for a space, when every character is a token."""


def by_letters(material: Material, *, least: int = 1) -> Material:
    """The same sentences with every character as a token. Several spaces are one space.

    Args:
        material: sentences of words.
        least: characters that occur less often in training sentences are read as <UNK>.

    Raises:
        ValueError: if a sentence holds the character that stands for a space.
    """

    def spelled(sentence: str) -> str:
        if SPACE in sentence:
            raise ValueError(
                f"'{SPACE}' stands for a space where characters are read, and {sentence!r:.60} holds it: replace it"
            )
        return " ".join(SPACE.join(sentence.split()))

    parts = {name: tuple(map(spelled, getattr(material, name))) for name in ("train", "validation", "test")}
    text = Words.of([*map(str.split, parts["train"]), [SPACE] * least], least=least)
    return dataclasses.replace(material, **parts, text=text, grammar=None)


def in_a_row(letters: Material) -> Int[np.ndarray, " tokens"]:
    """The training sentences as one text, with a space after each of them."""
    return np.concatenate([letters.text.encode_text(f"{sentence} {SPACE}") for sentence in letters.train])
