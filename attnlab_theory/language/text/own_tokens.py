"""The tokens of a folder of GPT-2's files: those of another language, or GPT-2's own with more marks.

A model that reads the wrong table gives numbers that look right.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from jaxtyping import Int32

from attnlab_theory.language.text import bpe
from attnlab_theory.language.text.bpe import END_OF_TEXT
from attnlab_theory.language.text.subwords import package, read_table, text_of
from attnlab_theory.language.text.tables import fields_of, numbered, pairs_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLES = ("tokenizer.json", "vocab.json")
"""Files in which a folder may keep its tokens. `vocab.json` needs the `merges.txt` beside it."""


@dataclasses.dataclass(frozen=True)
class OwnTokens:
    """Tokens of a table that the package `tokenizers` reads, with one mark for beginnings and ends.

    Raises:
        ValueError: if `tokenizers` is not installed or cannot read the table, or the table lacks the mark.
    """

    table: str = dataclasses.field(repr=False)
    """The text of a tokenizer.json."""
    mark: str = END_OF_TEXT
    """The mark before a text, and at its end."""

    def __post_init__(self) -> None:
        if self._tokenizer.token_to_id(self.mark) is None:
            raise ValueError(f"the table lacks the mark {self.mark}, which stands before a text")
        object.__setattr__(self, "table", self._tokenizer.to_str())

    @classmethod
    def of_folder(cls, folder: Path) -> "OwnTokens | None":
        """The tokens of a folder. None if it has no table.

        Raises:
            ValueError: if a table is damaged or not whole, or no mark is known.
        """
        whole, numbers = (folder / name for name in TABLES)
        if whole.is_file():
            try:
                table = read_table(text_of(whole)).to_str()
            except ValueError as error:
                raise ValueError(f"{whole}: {error}") from None
        elif numbers.is_file():
            table = _of_tables(numbers, folder / "merges.txt")
        else:
            return None
        try:
            return cls(table, _mark_in(table, folder))
        except ValueError as error:
            raise ValueError(f"{folder}: {error}") from None

    def refuse_another_than_gpt2s(self, folder: Path) -> None:
        """Refuse a folder whose tokens are not GPT-2's: the same numbers would mean other texts.

        Raises:
            ValueError: naming the folder.
        """
        if self._tokenizer.get_vocab() != bpe.numbers():
            raise ValueError(f"{folder} has tokens of its own, and texts are read here with GPT-2's")

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "OwnTokens":
        """The tokens that `as_json` wrote.

        Raises:
            ValueError: if it holds no table, or one that is refused.
        """
        if not isinstance(record.get("tokenizer"), dict):
            raise ValueError(f"a vocabulary of kind own has a table, not {record.get('tokenizer')!r:.60}")
        return cls(json.dumps(record["tokenizer"]), str(record.get("mark")))

    def as_json(self) -> dict[str, Any]:
        """Its kind, its table and its mark."""
        return {"kind": "own", "tokenizer": json.loads(self.table), "mark": self.mark}

    def __len__(self) -> int:
        return max(self._tokenizer.get_vocab().values()) + 1

    @functools.cached_property
    def pad(self) -> int:
        """The token that fills a row after its last token."""
        return self.bos

    @functools.cached_property
    def bos(self) -> int:
        """The token before the first token of a text."""
        return self._tokenizer.get_vocab()[self.mark]

    @functools.cached_property
    def eos(self) -> int:
        """The token after the last token of a text."""
        return self.bos

    def encode_text(self, text: str) -> Int32[np.ndarray, " tokens"]:
        """The tokens of a text, without marks.

        Raises:
            ValueError: if the text holds the mark itself, which no text may hold.
        """
        if self.mark in text:
            raise ValueError(f"a text holds {self.mark}, which marks the ends of texts; take it out")
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.int32)

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens up to the first mark.

        Raises:
            ValueError: naming a number that no token has.
        """
        numbers = [number.__index__() for number in ids]
        for number in numbers:
            if not 0 <= number < len(self):
                raise ValueError(f"no token has the number {number}; the vocabulary ends at {len(self) - 1}")
        if self.bos in numbers:
            numbers = numbers[: numbers.index(self.bos)]
        return self._tokenizer.decode(numbers, skip_special_tokens=False)

    @functools.cached_property
    def _tokenizer(self) -> "Tokenizer":
        return read_table(self.table)


def mark_of(folder: Path) -> str:
    """The mark before a text, by the folder's files. GPT-2's if they do not name one.

    Raises:
        ValueError: if a file is not JSON.
    """
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        file = folder / name
        if not file.is_file():
            continue
        said = fields_of(file).get("bos_token")
        said = said.get("content") if isinstance(said, dict) else said
        if isinstance(said, str) and said:
            return said
    return END_OF_TEXT


def _mark_in(table: str, folder: Path) -> str:
    """The mark by its name. If the table lacks the name, by its number in config.json."""
    named, known, config = mark_of(folder), read_table(table), folder / "config.json"
    number = fields_of(config).get("bos_token_id") if config.is_file() else None
    if known.token_to_id(named) is None and type(number) is int and number >= 0:
        return known.id_to_token(number) or named
    return named


def _of_tables(numbers: Path, merges: Path) -> str:
    """The table of vocab.json and merges.txt, with the tokens that were added to it."""
    table = numbered(numbers)
    pairs = pairs_of(merges, table)
    tokenizers = package()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(table, pairs))
    beside = numbers.with_name("tokenizer_config.json")
    spaced = fields_of(beside).get("add_prefix_space", False) if beside.is_file() else False
    if not isinstance(spaced, bool):
        raise ValueError(f"{beside}: add_prefix_space must say true or false, not {spaced!r}")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=spaced)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    added = numbers.with_name("added_tokens.json")
    more = numbered(added) if added.is_file() else {}
    mark = mark_of(numbers.parent)
    marks = sorted(more, key=more.__getitem__) + [mark] * (mark in table)
    tokenizer.add_special_tokens([tokenizers.AddedToken(each, special=True) for each in marks])
    for token, number in more.items():
        if tokenizer.token_to_id(token) != number:
            raise ValueError(f"{added}: {token} has the number {number}, but {numbers} ends at {len(table) - 1}")
    return tokenizer.to_str()
