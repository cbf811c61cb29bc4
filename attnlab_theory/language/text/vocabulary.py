"""The vocabularies that a checkpoint may hold. Each can be written as JSON."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import numpy as np
from jaxtyping import Int32

from attnlab_theory.language.text.bpe import BPE, RobertaBPE
from attnlab_theory.language.text.characters import Characters
from attnlab_theory.language.text.own_tokens import OwnTokens
from attnlab_theory.language.text.wordpiece import WordPiece
from attnlab_theory.language.text.words import Words


@runtime_checkable
class Vocabulary(Protocol):
    """The tokens of a text, by their numbers."""

    def __len__(self) -> int:
        """How many tokens there are."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Its `kind`, one of `VOCABULARIES`, and all of its content."""
        ...


@runtime_checkable
class OfSentences(Vocabulary, Protocol):
    """A vocabulary with marks for the ends of a sentence."""

    @property
    def pad(self) -> int:
        """The token that fills a row after its last token."""
        ...

    @property
    def bos(self) -> int:
        """The token before the first token of a sentence."""
        ...

    @property
    def eos(self) -> int:
        """The token after the last token of a sentence."""
        ...

    def encode_text(self, text: str) -> Int32[np.ndarray, " tokens"]:
        """The tokens of one sentence, without marks."""
        ...

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The sentence of tokens, up to the first `eos`."""
        ...


VOCABULARIES: dict[str, Callable[[Mapping[str, Any]], Vocabulary]] = {
    "characters": Characters.from_json,
    "words": Words.from_json,
    "gpt2": BPE.from_json,
    "wordpiece": WordPiece.from_json,
    "roberta": RobertaBPE.from_json,
    "own": OwnTokens.from_json,
}
"""Functions that read the JSON of `as_json`, by kind."""


def vocabulary_from_json(
    record: Mapping[str, Any], readers: Mapping[str, Callable[[Mapping[str, Any]], Vocabulary]]
) -> Vocabulary:
    """The vocabulary that `as_json` wrote.

    Raises:
        ValueError: if its kind is unknown, or it is damaged.
    """
    read = readers.get(str(record.get("kind")))
    if read is None:
        raise ValueError(f"a vocabulary of kind {record.get('kind')!r} is none of {', '.join(readers)}")
    return read(record)
