"""A vocabulary of characters, in the order of the homework: PAD, MASK, then the characters that occur, sorted.

Source: Stanford CS224n, assignment 5 of 2021 (assignment 4 from 2024), "Vocabulary Specification".
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Int, Int32

PAD = "\u25a1"
MASK = "\u2047"
PAD_ID = 0
MASK_ID = 1


@dataclasses.dataclass(frozen=True)
class Characters:
    """Characters and their numbers: symbols[i] has the number i."""

    symbols: str
    """All of them, PAD first and MASK second."""

    def __post_init__(self):
        if self.symbols[:2] != PAD + MASK or len(set(self.symbols)) != len(self.symbols):
            raise ValueError(
                f"a vocabulary is {PAD}{MASK} and different characters after them, not {self.symbols[:20]!r}"
            )

    @classmethod
    def of(cls, text: str, *, where: str = "the text") -> "Characters":
        """The vocabulary of a text: PAD, MASK and the characters that occur, sorted. Newlines count.

        Raises:
            ValueError: if the text itself holds PAD or MASK, naming the line.
        """
        for mark in (PAD, MASK):
            if mark in text:
                line = text.count("\n", 0, text.index(mark)) + 1
                raise ValueError(
                    f"line {line} of {where} holds {_shown(mark)}, which stands for what is missing; take it out"
                )
        return cls(PAD + MASK + "".join(sorted(set(text))))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Characters":
        """The vocabulary that `as_json` wrote.

        Raises:
            ValueError: if it holds no text of symbols, or one that is no vocabulary.
        """
        if not isinstance(record.get("symbols"), str):
            raise ValueError(f"characters have a text of symbols, not {record.get('symbols')!r}")
        return cls(record["symbols"])

    def as_json(self) -> dict[str, Any]:
        """Its kind and its symbols."""
        return {"kind": "characters", "symbols": self.symbols}

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, character: str) -> bool:
        return character in self.symbols

    def encode(self, text: str, *, where: str = "the text") -> Int32[np.ndarray, " t"]:
        """The number of every character. PAD and MASK may occur.

        Args:
            text: any.
            where: the name of the text in error messages.

        Raises:
            ValueError: naming the first character that is unknown, and its line if the text has several.
        """
        codes = _codes(text)
        numbers = self._numbers[np.minimum(codes, len(self._numbers) - 1)]
        if np.any(numbers < 0):
            place = int(np.argmax(numbers < 0))
            line = f"line {text.count(chr(10), 0, place) + 1} of " if "\n" in text else ""
            raise self._unknown(text[place], line + where)
        return numbers

    def encode_lines(
        self, lines: Iterable[str], *, where: str = "the text", first: int = 1
    ) -> list[Int32[np.ndarray, " _"]]:
        """The numbers of every line.

        Args:
            lines: one text each.
            where: the name of the text in error messages.
            first: the number of the first line.

        Raises:
            ValueError: naming the first character that is not in the vocabulary, and its line.
        """
        return [self.encode(line, where=f"line {n} of {where}") for n, line in enumerate(lines, first)]

    def decode(self, ids: Int[np.ndarray, " t"] | Iterable[SupportsIndex]) -> str:
        """The text of these numbers.

        Raises:
            ValueError: naming a number that no character has.
        """
        numbers = np.asarray(ids if hasattr(ids, "__array__") else list(ids), np.int64)
        wrong = (numbers < 0) | (numbers >= len(self))
        if np.any(wrong):
            raise ValueError(
                f"no character has the number {numbers[wrong][0]}; the vocabulary ends at {len(self) - 1}"
            )
        return "".join(self.symbols[number] for number in numbers.tolist())

    @functools.cached_property
    def _numbers(self) -> Int32[np.ndarray, " _"]:
        """The number of every code point; -1 if it is unknown. The last entry stands for all larger code points."""
        codes = _codes(self.symbols)
        numbers = np.full(int(codes.max()) + 2, -1, np.int32)
        numbers[codes] = np.arange(len(codes), dtype=np.int32)
        return numbers

    def _unknown(self, character: str, where: str) -> ValueError:
        return ValueError(
            f"{where} holds {_shown(character)}, which is not among the {len(self)} characters of the vocabulary; "
            "take it out, or take the vocabulary from a corpus that has it"
        )


def _codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)


def _shown(character: str) -> str:
    return f"{character!r} (U+{ord(character):04X})"
