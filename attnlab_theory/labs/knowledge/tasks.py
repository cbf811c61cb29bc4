"""attnlab knowledge: a small GPT that reads about persons and is asked where they were born."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro
from tyro.conf import subcommand

from attnlab_theory.labs.engine.run import DRAW, JUDGE, DrawLab, JudgeLab, RunLab, Tasks
from attnlab_theory.labs.knowledge.arms import PRESETS, PRETRAINING, Preset, PresetName
from attnlab_theory.labs.knowledge.data import Data
from attnlab_theory.labs.knowledge.evaluation import Baseline, Evaluate, Score
from attnlab_theory.labs.knowledge.training import Finetune, Pretrain, Store
from attnlab_theory.labs.options import ModelSizes, given

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.lab import Knowledge as Lab
    from attnlab_theory.labs.knowledge.material import Material


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Without a corpus, persons are generated. Some options below say how many, and what the text tells of each."""

    finetuned: int | None = None
    """Persons in the text about whom finetuning asks. By default 60."""
    held_out: int | None = None
    """Persons in the text about whom only the evaluation asks. By default 60."""
    never_seen: int | None = None
    """Persons who are not in the text. By default 100."""
    places: int | None = None
    """Birthplaces. Each has equally many persons. By default 40."""
    wordings: tuple[int, ...] | None = None
    """Different wordings for each person. By default 4.
    With several numbers, each number holds for equally many persons."""
    statements: tuple[int, ...] | None = None
    """Sentences about each person. By default 4.
    With several numbers, each number holds for equally many persons."""
    order: Literal["name", "place", "any"] | None = None
    """What comes first in a sentence: the name, the place, or any of the two. By default any."""
    lines: Literal["shuffled", "by-person", "by-statement"] | None = None
    """Order of the sentences in the text, by default shuffled.
    shuffled: at random.
    by-person: all sentences about one person, then all about the next.
    by-statement: everybody's first sentence, then everybody's second."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(ModelSizes):
    """Other options change the preset.

    The preset tiny has 2 layers, 4 heads, width 128, block size 64 and 200 epochs of pretraining. The preset
    homework has 4 layers, 8 heads, width 256, block size 128 and 650 epochs.
    """

    epochs: int | None = None
    """Epochs of pretraining."""
    year: Literal[2021, 2024] | None = None
    """Year of the homework, for --preset homework only. Learning rates and padding differ. By default 2021."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(RunLab):
    """Pretrain, finetune and question every model. Then count right answers, decide each claim, and draw figures.

    Without a corpus, persons are generated. The text is about some of them. Finetuning asks about half of these.
    The evaluation asks about all persons: the finetuned ones, the held-out other half, and persons who are not in
    the text.
    """

    name = "knowledge"
    question = "Is what a model recalls of a person learned in pretraining, and does it know what it knows?"
    pretrain_corpus: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[PRETRAIN_CORPUS]")] = None
    """The text of pretraining, one document per line. By default it is about generated persons."""
    finetune_corpus_path: Path | None = None
    """With a corpus: file of questions to learn, lines of question, tab and place."""
    eval_corpus_path: Path | None = None
    """With a corpus: such a file about other persons."""
    preset: PresetName = "tiny"
    """Model size and recipes. tiny: trained in minutes on two cores. homework: the homework's."""
    arms: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--variants"])] = ("none", "vanilla", "rope")
    """The models to train. `none` is `vanilla` without pretraining. `knowledge pretrain -h` lists the others."""
    seeds: int = 5
    """How many seeds to run. Three took 7 minutes on two cores. Fewer than three decide no claim."""
    out: Path = Path("lab/knowledge")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    persons: World = dataclasses.field(default_factory=World)
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: if the input is bad, before anything is written.
        """
        from attnlab_theory.labs.knowledge.lab import Knowledge as Lab

        material = self.of_seeds(self._material, drawn=self.pretrain_corpus is None)
        return Lab(**self.every_lab(), preset=self._preset(), material=material)

    def about(self, lab: "Lab") -> dict[str, Any]:
        """Preset and arms."""
        return {"preset": self.preset, "variants": list(self.arms)}

    def _preset(self) -> Preset:
        preset, changes = PRESETS[self.preset], self.training
        if changes.epochs is not None and changes.epochs < 1:
            raise ValueError(f"--epochs must be at least 1, not {changes.epochs}")
        pretraining = preset.pretraining
        if changes.year is not None:
            if self.preset != "homework":
                raise ValueError(f"--year {changes.year} belongs to the homework; add --preset homework")
            pretraining = PRETRAINING[changes.year]
            corruption = dataclasses.replace(preset.corruption, year=changes.year)
            preset = dataclasses.replace(preset, corruption=corruption)
        stages = {"finetuning": preset.finetuning, "from_scratch": preset.from_scratch}
        stages["pretraining"] = dataclasses.replace(pretraining, epochs=changes.epochs or pretraining.epochs)
        return dataclasses.replace(preset, **changes.given, **stages)

    def _material(self, seed: int) -> "Material":
        from attnlab_theory.labs.knowledge.corpora import biographies
        from attnlab_theory.labs.knowledge.material import generated, read

        told = given(vars(self.persons))
        files = {
            "a PRETRAIN_CORPUS": self.pretrain_corpus,
            "--finetune-corpus-path": self.finetune_corpus_path,
            "--eval-corpus-path": self.eval_corpus_path,
        }
        if not any(files.values()):
            return generated(dataclasses.replace(biographies.PRESETS["tiny"], seed=seed, **told))
        missing = [name for name, path in files.items() if path is None]
        if missing:
            raise ValueError(f"data of your own are three files: {' and '.join(missing)} is missing")
        if told:
            raise ValueError(
                f"--{min(told).replace('_', '-')} is for generated persons; leave it or the files away"
            )
        return read(*(path for path in files.values() if path is not None))


class Judge(JudgeLab):
    """Judge a run of this lab again, on its answers."""

    name = "knowledge"


class Draw(DrawLab):
    """Draw the figures of `knowledge run` or `knowledge evaluate --out` again."""


@dataclasses.dataclass(frozen=True)
class Knowledge(Tasks):
    """Train a small GPT on a text about persons, and ask it where they were born."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "--bottleneck_dim": "belongs to the perceiver of the homework of 2022 and 2023, which is not here",
        "--function": "stands without a name here: attnlab knowledge pretrain VARIANT CORPUS",
        "--variant": "stands without a name here: attnlab knowledge pretrain VARIANT CORPUS",
        "--pretrain_corpus_path": "stands without a name here: attnlab knowledge pretrain VARIANT CORPUS",
        "--finetune_lr": "is the learning rate of finetune; in pretrain it is --lr",
        "--pretrain_lr": "is the learning rate of pretrain; in finetune it is --lr",
    }
    """Options of other years' homework that no command has here, or that another command has."""

    task: (
        Annotated[Pretrain, subcommand("pretrain")]
        | Annotated[Finetune, subcommand("finetune")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Score, subcommand("score")]
        | Annotated[Store, subcommand("store")]
        | Annotated[Baseline, subcommand("baseline")]
        | Annotated[Run, subcommand("run")]
        | Annotated[Judge, JUDGE]
        | Annotated[Draw, DRAW]
        | Annotated[Data, subcommand("data")]
    )
