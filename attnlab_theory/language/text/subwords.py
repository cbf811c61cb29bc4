"""Vocabularies of parts of words, with an encoder's marks: what `wordpiece` and `bpe` have in common.

The package `tokenizers` cuts the texts. A vocabulary is the JSON text that this package reads and writes. So a
checkpoint holds all of it.
"""

import abc
import dataclasses
import functools
import importlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, SupportsIndex, TypeVar

import numpy as np
from jaxtyping import Int32

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Kind = TypeVar("Kind", bound="Subwords")


class Marks(NamedTuple):
    """How the marks are written."""

    pad: str
    """Fills a row after its last token."""
    bos: str
    """Stands before the first token of a text. Its vector is read for the whole text."""
    eos: str
    """Stands after the last token."""
    unk: str
    """Stands for what cannot be written with the other tokens."""
    mask: str
    """Covers a token that is to be guessed."""


@dataclasses.dataclass(frozen=True)
class Subwords(abc.ABC):
    """Parts of words, their numbers, and how a text is cut into them.

    Raises:
        ValueError: if `tokenizers` is not installed or cannot read the table. Also if the table is of another kind,
            lacks a mark or a number, or puts other marks around a text than `bos` and `eos`.
    """

    table: str = dataclasses.field(repr=False)
    """The text of a tokenizer.json, without truncation, padding and the marks around a text."""

    kind: ClassVar[str]
    """Its name in checkpoints."""
    model: ClassVar[str]
    """The kind of table, in the words of tokenizers."""
    marks: ClassVar[Marks]

    def __post_init__(self) -> None:
        tokenizer, found = read_table(self.table), self._tokenizer.get_vocab()
        model = type(tokenizer.model).__name__
        if model != self.model:
            raise ValueError(f"a vocabulary of kind {self.kind} is cut by {self.model}, not by {model}")
        for mark in self.marks:
            if mark not in found:
                raise ValueError(f"a vocabulary of kind {self.kind} needs the mark {mark}; the table lacks it")
        missing = set(range(len(found))) - set(found.values())
        if missing:
            raise ValueError(f"no token has the number {min(missing)}, though there are {len(found)} tokens")
        ends = [self.bos, self.eos]
        around = ends if tokenizer.post_processor is None else tokenizer.encode("").ids
        if around != ends:
            raise ValueError(f"the table puts {around} around a text, not {self.marks.bos} and {self.marks.eos}")
        object.__setattr__(self, "table", self._tokenizer.to_str())

    @classmethod
    def of_file(cls: type[Kind], path: str | os.PathLike[str]) -> Kind:
        """The vocabulary of a local tokenizer.json.

        Raises:
            ValueError: if the file is missing or no UTF-8, or its table is refused.
        """
        return cls.named(Path(path), text_of(Path(path)))

    @classmethod
    def named(cls: type[Kind], path: Path, table: str) -> Kind:
        """The vocabulary of a table from a file. Error messages name the file."""
        try:
            return cls(table)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def from_json(cls: type[Kind], record: Mapping[str, Any]) -> Kind:
        """The vocabulary that `as_json` wrote.

        Raises:
            ValueError: if it holds no table, or one that is refused.
        """
        if not isinstance(record.get("tokenizer"), dict):
            raise ValueError(f"a vocabulary of kind {cls.kind} has a table, not {record.get('tokenizer')!r:.60}")
        return cls(json.dumps(record["tokenizer"]))

    def as_json(self) -> dict[str, Any]:
        """Its kind and its table."""
        return {"kind": self.kind, "tokenizer": json.loads(self.table)}

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    @functools.cached_property
    def pad(self) -> int:
        """The token that fills a row after its last token."""
        return self._number(self.marks.pad)

    @functools.cached_property
    def bos(self) -> int:
        """The token before the first token of a text."""
        return self._number(self.marks.bos)

    @functools.cached_property
    def eos(self) -> int:
        """The token after the last token of a text."""
        return self._number(self.marks.eos)

    @functools.cached_property
    def unk(self) -> int:
        """The token for what cannot be written with the other tokens."""
        return self._number(self.marks.unk)

    @functools.cached_property
    def mask(self) -> int:
        """The token that covers a token to be guessed."""
        return self._number(self.marks.mask)

    def encode_text(self, text: str) -> Int32[np.ndarray, " tokens"]:
        """The tokens of a text, without marks and without a limit.

        Raises:
            ValueError: if the text holds a mark, which no text may hold.
        """
        for mark in self.marks:
            if mark in text:
                raise ValueError(f"a text holds {mark}, which is a mark of the vocabulary; take it out")
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.int32)

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens up to the first `eos`, without `bos` and `pad`.

        Raises:
            ValueError: naming a number that no token has.
        """
        numbers = self._numbers(ids)
        if self.eos in numbers:
            numbers = numbers[: numbers.index(self.eos)]
        numbers = [number for number in numbers if number not in (self.bos, self.pad)]
        return self._tokenizer.decode(numbers, skip_special_tokens=False)

    def pieces(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The text of each token in the table.

        Raises:
            ValueError: naming a number that no token has.
        """
        return [self._pieces[number] for number in self._numbers(ids)]

    def _numbers(self, ids: Iterable[SupportsIndex]) -> list[int]:
        numbers = [number.__index__() for number in ids]
        for number in numbers:
            if not 0 <= number < len(self):
                raise ValueError(f"no token has the number {number}; the vocabulary ends at {len(self) - 1}")
        return numbers

    def _number(self, mark: str) -> int:
        return self._tokenizer.get_vocab()[mark]

    @functools.cached_property
    def _pieces(self) -> list[str]:
        found = self._tokenizer.get_vocab()
        return sorted(found, key=found.__getitem__)

    @functools.cached_property
    def _tokenizer(self) -> "Tokenizer":
        tokenizer = read_table(self.table)
        tokenizer.post_processor = None  # pyright: ignore[reportAttributeAccessIssue]
        return tokenizer


def package() -> Any:
    """The package `tokenizers`.

    Raises:
        ValueError: if it is not installed.
    """
    try:
        return importlib.import_module("tokenizers")
    except ImportError as error:
        raise ValueError(
            "parts of words are cut by the package tokenizers, which is not installed: pip install 'attnlab[bpe]'"
        ) from error


def text_of(path: Path) -> str:
    """The text of a local file, without the mark that some editors write first.

    Raises:
        ValueError: if it is missing or no UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at {error.start}") from None


def read_table(table: str) -> "Tokenizer":
    """The tokenizer of a tokenizer.json, without truncation and padding.

    Raises:
        ValueError: if `tokenizers` is not installed or cannot read it.
    """
    reader = package().Tokenizer
    try:
        tokenizer: Tokenizer = reader.from_str(table)
    except Exception as error:  # tokenizers raises no other kind
        said = " ".join(str(error).split())
        raise ValueError(f"tokenizers cannot read this table: {said}") from None
    # A table says how its pretraining cut and filled rows. That is left to those who make batches.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
