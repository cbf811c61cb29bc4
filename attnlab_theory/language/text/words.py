"""A vocabulary of words: the frequent ones, one number for all others, and the marks of a sentence."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Int32

PAD, BOS, EOS, UNK = "<PAD>", "<BOS>", "<EOS>", "<UNK>"
MARKS = (PAD, BOS, EOS, UNK)
"""The marks, numbers 0 to 3: filling, before the first word, after the last, and an unknown word."""
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)


@dataclasses.dataclass(frozen=True)
class Words:
    """Words and their numbers, which follow those of the marks."""

    words: tuple[str, ...]
    """All words of the vocabulary, without the marks."""

    def __post_init__(self) -> None:
        if len(set(self.words)) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise ValueError(f"a vocabulary has every word once, but {twice!r} twice")
        for word in self.words:
            if word in MARKS or not word or word.split() != [word]:
                raise ValueError(
                    f"{word!r} cannot be a word: it is a mark of the vocabulary, empty or not one word"
                )

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], *, least: int = 3) -> "Words":
        """The words that occur at least `least` times, sorted.

        Args:
            sentences: each a list of words.
            least: rarer words are unknown: UNK.

        Raises:
            ValueError: if `least` is below 1, or a word is a mark.
        """
        return cls.from_counts(Counter(word for sentence in sentences for word in sentence), least=least)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], *, least: int = 3) -> "Words":
        """The same, from the number of times that each word occurs.

        Raises:
            ValueError: if `least` is below 1, or a word is a mark.
        """
        if least < 1:
            raise ValueError(f"a word is seen at least once, not {least} times")
        return cls(tuple(sorted(word for word, seen in counts.items() if seen >= least)))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Words":
        """The vocabulary that `as_json` wrote.

        Raises:
            ValueError: if it holds no list of words, or one that is no vocabulary.
        """
        words = record.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"a vocabulary of words has a list of words, not {words!r:.60}")
        return cls(tuple(words))

    def as_json(self) -> dict[str, Any]:
        """Its kind and its words."""
        return {"kind": "words", "words": list(self.words)}

    @property
    def pad(self) -> int:
        """The token that fills a row after its last token."""
        return PAD_ID

    @property
    def bos(self) -> int:
        """The token before the first word."""
        return BOS_ID

    @property
    def eos(self) -> int:
        """The token after the last word."""
        return EOS_ID

    def __len__(self) -> int:
        return len(MARKS) + len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def encode(self, sentence: Sequence[str]) -> Int32[np.ndarray, " words"]:
        """The number of every word; UNK for an unknown one.

        Raises:
            ValueError: if the sentence is a text, and no list of words.
        """
        if isinstance(sentence, str):
            raise ValueError(f"words are wanted one by one, not as the text {sentence!r:.60}; split it")
        return np.array([self._numbers.get(word, UNK_ID) for word in sentence], np.int32)

    def encode_sentence(self, sentence: Sequence[str]) -> Int32[np.ndarray, " tokens"]:
        """The numbers of a sentence between BOS and EOS, as a model reads it."""
        return np.concatenate([[BOS_ID], self.encode(sentence), [EOS_ID]]).astype(np.int32)

    def encode_text(self, text: str) -> Int32[np.ndarray, " words"]:
        """The numbers of the words of a text, which spaces separate."""
        return self.encode(text.split())

    def decode(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The words of these numbers. Marks are written as such.

        Raises:
            ValueError: naming a number that no word has.
        """
        symbols = (*MARKS, *self.words)
        numbers = [number.__index__() for number in ids]
        for number in numbers:
            if not 0 <= number < len(symbols):
                raise ValueError(f"no word has the number {number}; the vocabulary ends at {len(self) - 1}")
        return [symbols[number] for number in numbers]

    def decode_sentence(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The words up to the first EOS, without BOS and PAD."""
        words = self.decode(ids)
        words = words[: words.index(EOS)] if EOS in words else words
        return [word for word in words if word not in (BOS, PAD)]

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The words up to the first EOS, as one text."""
        return " ".join(self.decode_sentence(ids))

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, len(MARKS))}
