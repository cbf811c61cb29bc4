"""BERT's vocabulary: words, and pieces of other words, from a local tokenizer.json or vocab.txt.

A word is cut from the left into the longest pieces that the vocabulary has. Pieces after the first begin with ##.

Source: Devlin et al. 2019.
"""

import dataclasses
import os
from pathlib import Path
from typing import ClassVar

from attnlab_theory.language.text.subwords import Marks, Subwords, package, text_of


@dataclasses.dataclass(frozen=True)
class WordPiece(Subwords):
    """BERT's tokens. A word without pieces is `unk`."""

    kind: ClassVar[str] = "wordpiece"
    model: ClassVar[str] = "WordPiece"
    marks: ClassVar[Marks] = Marks("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")

    @classmethod
    def of_vocabulary(cls, path: str | os.PathLike[str], *, lower: bool) -> "WordPiece":
        """The vocabulary of a local vocab.txt: one token on each line, numbered from 0.

        Args:
            path: of the file.
            lower: whether texts are read in lower case and without accents, as for an uncased model. The file does
                not say it.

        Raises:
            ValueError: if the file is missing or no UTF-8, a line is empty or stands there twice, or a mark is
                missing.
        """
        tokens = text_of(Path(path)).removesuffix("\n").split("\n")
        numbers: dict[str, int] = {}
        for number, token in enumerate(token.removesuffix("\r") for token in tokens):
            if not token or token in numbers:
                wrong = f"is that of line {numbers[token] + 1} again, {token!r}" if token else "is empty"
                raise ValueError(f"{path}: line {number + 1} {wrong}; a vocabulary has one token a line, each once")
            numbers[token] = number
        for mark in cls.marks:
            if mark not in numbers:
                raise ValueError(f"{path} lacks the mark {mark}: it is not a vocabulary of BERT's")
        tokenizers = package()
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token=cls.marks.unk))
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = tokenizers.decoders.WordPiece()
        tokenizer.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in cls.marks])
        return cls.named(Path(path), tokenizer.to_str())
