"""Options for the sentences that are read."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory.labs.options import Unit

if TYPE_CHECKING:
    from attnlab_theory.labs.sentences import Material


@dataclasses.dataclass(frozen=True, kw_only=True)
class Texts:
    """Files for training, validation and test hold one sentence a line."""

    train: Path | None = None
    """Sentences to learn."""
    validation: Path | None = None
    """Sentences for validation, whose loss can end training."""
    test: Path | None = None
    """Sentences to test with at the end."""
    unit: Unit = "words"
    """What a token of the files is. words: what stands between spaces. bpe: GPT-2's byte pairs."""
    least: int = 3
    """Words that the training file holds less often are read as <UNK>. For --unit words."""
    vocabulary: Path | None = None
    """File of the words that are known, one a line. All others are read as <UNK>. For --unit words."""

    def material(self, seed: int) -> "Material":
        """The sentences: of the files, or drawn from the grammar by the seed.

        Raises:
            ValueError: if some of the files are missing, empty or not UTF-8, or, with words as the unit, most lines
                have no spaces between words.
        """
        from attnlab_theory.labs.sentences import Sizes, generated, read
        from attnlab_theory.language.corpora import spaces

        if self.least < 0:
            raise ValueError(f"--least is a number of words, at least 0, not {self.least}")
        files = {"--train": self.train, "--validation": self.validation, "--test": self.test}
        missing = [name for name, path in files.items() if path is None]
        if len(missing) == len(files):
            if self.unit != "words":
                raise ValueError(f"--unit {self.unit} is for files; sentences of the grammar are read by words")
            if self.vocabulary is not None:
                raise ValueError(f"--vocabulary {self.vocabulary} is for files; the grammar has words of its own")
            return generated(seed, Sizes())
        if self.train is None or self.validation is None or self.test is None:
            raise ValueError(f"data of your own are three files: {' and '.join(missing)} is missing")
        found = read(self.train, self.validation, self.test, self.unit, least=self.least, words=self.vocabulary)
        if self.unit == "words":
            spaces.refuse_unspaced(found.train, found.source, "say --unit bpe, or put spaces between the words")
        return found

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """The files, which must not be written over."""
        return self.train, self.validation, self.test, self.vocabulary
