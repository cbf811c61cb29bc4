"""attnlab knowledge run: every variant through all stages, then everything that their answers tell."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.options import ModelSizes, WholeRun, given
from attnlab_theory.labs.training import train
from attnlab_theory.language.precision import Precision

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.lab import Lab
    from attnlab_theory.labs.knowledge.material import Material
    from attnlab_theory.labs.knowledge.presets import Preset
    from attnlab_theory.labs.knowledge.results import Results

QUESTION = "Is what a model recalls of a person learned in pretraining, and does it know what it knows?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Which persons are generated and what the text says of them, if no corpus is given."""

    finetuned: int | None = None
    """Persons in the text about whom finetuning asks. By default 60."""
    held_out: int | None = None
    """Persons in the text about whom only the evaluation asks. By default 60."""
    never_seen: int | None = None
    """Persons who are not in the text. By default 100."""
    places: int | None = None
    """Birthplaces. Each has equally many persons. By default 40."""
    templates: int | None = None
    """Wordings that the text uses to say where somebody was born. By default 4."""
    wordings: tuple[int, ...] | None = None
    """Different wordings for each person. By default 4.
    With several numbers, each number holds for equally many persons."""
    statements: tuple[int, ...] | None = None
    """Sentences about each person. By default 4.
    With several numbers, each number holds for equally many persons."""
    order: Literal["name", "place", "any"] | None = None
    """What comes first in a sentence: the name, the place, or any of the two. By default any."""
    lines: Literal["shuffled", "by-person", "by-statement"] | None = None
    """Order of the sentences in the text.
    shuffled: at random.
    by-person: all sentences about one person, then all about the next.
    by-statement: everybody's first sentence, then everybody's second.
    By default shuffled."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments(ModelSizes):
    """Changes to the preset.

    The preset tiny has 2 layers, 4 heads, width 128, block size 64 and 200 epochs of pretraining. The preset
    homework has 4 layers, 8 heads, width 256, block size 128 and 650 epochs.
    """

    epochs: int | None = None
    """Epochs of pretraining."""
    year: Literal[2021, 2024] | None = None
    """Year of the homework, for --preset homework only. Learning rates and padding differ. By default 2021."""
    precision: Precision = "float32"
    """Number format of matrix products and activations. Parameters are always float32."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(WholeRun):
    """Pretrain, finetune and ask every variant. Then measure, judge and draw what each of them knows.

    Without a corpus, persons are generated. The text speaks of some of them. Finetuning asks about half of those.
    The evaluation asks about all persons: the finetuned ones, the held-out other half, and persons who are not in
    the text.
    """

    pretrain_corpus: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[PRETRAIN_CORPUS]")] = None
    """The text of pretraining, one document per line. By default it is about generated persons."""
    finetune_corpus_path: Path | None = None
    """With a corpus: file of questions to learn, lines of question, tab and place."""
    eval_corpus_path: Path | None = None
    """With a corpus: file of questions about other persons, in the same form."""
    preset: Literal["tiny", "homework"] = "tiny"
    """Model size and recipes. tiny: trained in minutes on two cores. homework: the homework's."""
    variants: tuple[str, ...] = ("none", "vanilla", "rope")
    """The models. none is vanilla without pretraining. `knowledge pretrain -h` lists the others."""
    seeds: int = 5
    """How many seeds to run. Persons, first weights and dropout follow from the seed.
    Three took 7 minutes on two cores. Fewer decide nothing. Five tell guesses from the homework's mark of 10 %, if
    models differ by no more than their 60 questions make them."""
    out: Path = Path("lab/knowledge")
    """Folder for models, JSON and figures. It is made if it does not exist."""
    persons: World = dataclasses.field(default_factory=World)
    training: Adjustments = dataclasses.field(default_factory=Adjustments)

    def run(self) -> int:
        """Train, ask, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.knowledge import results
        from attnlab_theory.report import record

        began = time.monotonic()
        lab = self._lab()
        about = self._about()
        with folders.begun(self.out, "knowledge"):
            if not self.resume:
                lab.refuse_left_over()
            for stage in lab.stages():
                told = f", seed {stage.run.training.seed}"
                if train(stage.run, self.checkpoints(stage.path), told=told) is None:
                    return 130
            found = results.results(lab)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            about |= found.verdicts.as_json()
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _lab(self) -> "Lab":
        from attnlab_theory.labs.knowledge.lab import Lab

        seeds = self.every_seed()
        first = self._material(self.seed)  # Complains of bad input before anything is written.
        material = (lambda _: first) if self.pretrain_corpus else functools.cache(self._material)
        return Lab(
            preset=self._preset(),
            variants=self.variants,
            seeds=seeds,
            material=material,
            folder=self.out / "models",
        )

    def _preset(self) -> "Preset":
        from attnlab_theory.labs.knowledge.presets import PRESETS
        from attnlab_theory.labs.knowledge.recipes import PRETRAINING

        preset, changes = PRESETS[self.preset], self.training
        if changes.epochs is not None and changes.epochs < 1:
            raise ValueError(f"--epochs must be at least 1, not {changes.epochs}")
        pretraining = preset.pretraining
        if changes.year is not None:
            if self.preset != "homework":
                raise ValueError(f"--year {changes.year} is of the homework; add --preset homework")
            pretraining = PRETRAINING[changes.year]
            corruption = dataclasses.replace(preset.corruption, year=changes.year)
            preset = dataclasses.replace(preset, corruption=corruption)
        stages = {"finetuning": preset.finetuning, "from_scratch": preset.from_scratch}
        stages["pretraining"] = dataclasses.replace(pretraining, epochs=changes.epochs or pretraining.epochs)
        stages = {n: dataclasses.replace(recipe, precision=changes.precision) for n, recipe in stages.items()}
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
        material = read(*(path for path in files.values() if path is not None))
        _say_what_is_asked_twice(material)
        return material

    def _about(self) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.verdicts import ERROR_RATE
        from attnlab_theory.report import provenance

        return {
            "question": QUESTION,
            "preset": self.preset,
            "seed": self.seed,
            "seeds": self.seeds,
            "variants": list(self.variants),
            **provenance.of_this_process(),
            "error_rate": ERROR_RATE,
        }

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report.table import show

        if not self.json:
            show(found.table())
        report(found.verdicts, found.estimates, about, self.out, json=self.json)


def _say_what_is_asked_twice(material: "Material") -> None:
    """Persons of the evaluation who are asked for in finetuning too are not held out."""
    held_out = material.asked["held-out"].asked
    learned = set(material.finetuning.asked)
    twice = [question for question in held_out if question in learned]
    if twice:
        print(
            f"attnlab: of {len(held_out)} questions for evaluation, {len(twice)} stand in the file for finetuning "
            f"too, {twice[0]!r} first: who is learned is not held out",
            file=sys.stderr,
        )
