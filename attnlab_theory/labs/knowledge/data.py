"""attnlab knowledge data: what a model reads and what it is to predict."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from attnlab_theory.labs.options import WithJson
from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.corpora.birthplaces import NameDataset
    from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset


BLOCK = 128
"""Length of a padded document, in characters: the homework's."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(WithJson):
    """Print what a model reads (x) and what it must predict (y), as the homework's dataset.py does."""

    kind: Annotated[Literal["namedata", "charcorruption"], tyro.conf.Positional]
    """namedata: questions, for finetuning. charcorruption: corrupted documents, for pretraining."""
    corpus: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[CORPUS]")] = None
    """For namedata: lines of question, tab and place. For charcorruption: one document per line.
    Without it, persons are generated."""
    year: Literal[2021, 2024] | None = None
    """For charcorruption: the year of the homework, by default 2021. From 2024 on, texts get one character more."""
    examples: int = 4
    """How many examples to print."""
    seed: int = 0
    """The seed of all random numbers."""

    def run(self) -> int:
        """Read, and print the first examples."""
        if self.examples < 1:
            raise ValueError(f"--examples must be at least 1, not {self.examples}")
        if self.kind == "namedata" and self.year:
            raise ValueError("--year is for charcorruption")
        dataset = self._questions() if self.kind == "namedata" else self._documents()
        batch = dataset.epoch(0)
        decode = dataset.characters.decode
        pairs = [{"x": decode(x), "y": decode(y)} for x, y in zip(batch.x, batch.y, strict=True)][: self.examples]
        if self.json:
            counts = {"kind": self.kind, "documents": len(dataset), "vocabulary": len(dataset.characters)}
            print(json.dumps({**counts, "examples": pairs}, indent=1, ensure_ascii=False))
            return 0
        print(
            f"{several(len(dataset), 'document')}, a vocabulary of {several(len(dataset.characters), 'character')}"
        )
        for pair in pairs:
            print(f"x: {pair['x']}\ny: {pair['y']}")
        return 0

    def _questions(self) -> "NameDataset":
        from attnlab_theory.labs.knowledge.corpora import biographies, birthplaces
        from attnlab_theory.language.text.characters import MASK, PAD

        if self.corpus is None:
            plan = dataclasses.replace(biographies.PRESETS["tiny"], seed=self.seed)
            generated = biographies.biographies(plan)
            questions, characters = generated.questions("finetuned"), generated.characters
        else:
            questions = birthplaces.read_questions(self.corpus)
            # A mark among them is refused by the data set, which knows its line.
            held = {*"".join((*questions.texts, *questions.answers))} - {MASK, PAD}
            characters = birthplaces.vocabulary("".join(held))
        return birthplaces.NameDataset(questions, BLOCK, characters=characters)

    def _documents(self) -> "CharCorruptionDataset":
        from attnlab_theory.labs.knowledge.corpora import biographies, birthplaces
        from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset
        from attnlab_theory.language.corpora.text_files import read_text

        if self.corpus is None:
            plan = dataclasses.replace(biographies.PRESETS["tiny"], seed=self.seed)
            text, source = biographies.biographies(plan).text, "the generated corpus"
        else:
            text, source = read_text(self.corpus), str(self.corpus)
        characters = birthplaces.vocabulary(text, source=source)
        how = Corruption(year=self.year or 2021)
        return CharCorruptionDataset(text, BLOCK, how=how, characters=characters, seed=self.seed, source=source)
