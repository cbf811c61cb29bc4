"""Options for the sentences of the lab. Nothing here imports jax, because the command line reads it first.

They differ from those of `labs/texts.py`. Training never stops early here, so there is no file for validation. And
a token may be a character.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from attnlab_theory.labs.sentences import Material

Unit = Literal["words", "characters"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Texts:
    """Files for training and test hold one sentence a line."""

    train: Path | None = None
    """File of sentences to learn."""
    test: Path | None = None
    """File of sentences to test with at the end."""
    unit: Unit = "words"
    """What a token is. words: what stands between spaces. characters: every character, and the space is one."""
    least: int | None = None
    """Tokens that the training file holds less often are read as <UNK>. By default 3, for characters 1."""

    def material(self, seed: int) -> "Material":
        """The sentences: of the files, or drawn from the grammar by the seed.

        Raises:
            ValueError: if a file is missing, empty or not UTF-8, or an option needs a file and there is none.
                Also, with words as the unit, if most lines have no spaces between words.
        """
        from attnlab_theory.labs.recurrent.letters import by_letters
        from attnlab_theory.labs.sentences import Material, Sizes, generated, read_sentences, vocabulary
        from attnlab_theory.language.corpora import spaces

        if self.train is None and self.test is None:
            if self.least is not None:
                raise ValueError("--least is for files; the grammar's words are all known")
            drawn = generated(seed, Sizes())
            return by_letters(drawn) if self.unit == "characters" else drawn
        if self.train is None or self.test is None:
            missing = "--train" if self.train is None else "--test"
            raise ValueError(f"data of your own are two files: {missing} is missing")
        train = read_sentences(self.train)
        if self.unit == "words":
            remedy = "say --unit characters, or put spaces between the words"
            spaces.refuse_unspaced(train, str(self.train), remedy)
        least = self.least if self.least is not None else 3 if self.unit == "words" else 1
        text = vocabulary(train, "words", least=least)
        # Nothing stops early here: no sentence is for validation.
        words = Material(
            train=train, validation=(), test=read_sentences(self.test), text=text, source=str(self.train)
        )
        return by_letters(words, least=least) if self.unit == "characters" else words
