"""attnlab knowledge run: every variant through all stages, then everything that their answers tell."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from attnlab_theory import files
from attnlab_theory.labs.knowledge.commands.training import Keeping, train
from attnlab_theory.language.precision import Precision

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.lab import Lab
    from attnlab_theory.labs.knowledge.material import Material
    from attnlab_theory.labs.knowledge.presets import Preset
    from attnlab_theory.labs.knowledge.results import Results

QUESTION = "Is what a model recalls of a person learned in pretraining, and does it know what it knows?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Of the persons that are generated where no corpus is given; what is not said is as in `knowledge data`."""

    finetuned: int | None = None
    """Persons of whom the text speaks, and finetuning asks; by default 60."""
    held_out: int | None = None
    """Persons of whom the text speaks, and nobody asks before evaluation; by default 60."""
    never_seen: int | None = None
    """Persons of whom nothing speaks; by default 100."""
    places: int | None = None
    """Each the birthplace of equally many persons; by default 40."""
    templates: int | None = None
    """How many wordings the corpus knows; by default 4."""
    wordings: tuple[int, ...] | None = None
    """In how many of them a person is spoken of, by default 4; with several numbers, each for equally many."""
    statements: tuple[int, ...] | None = None
    """In how many sentences, likewise."""
    order: Literal["name", "place", "any"] | None = None
    """What sentences say first; by default whatever the wording does."""
    lines: Literal["shuffled", "by-person", "by-statement"] | None = None
    """How the sentences lie in the corpus; by default shuffled."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustments:
    """Of the preset; what is not said is as there."""

    epochs: int | None = None
    """Passes of pretraining over the corpus; by default 200 (tiny) or 650 (homework)."""
    layers: int | None = None
    """By default 2 (tiny) or 4 (homework)."""
    heads: int | None = None
    """By default 4 or 8."""
    width: int | None = None
    """By default 128 or 256."""
    block_size: int | None = None
    """Characters of the longest document; by default 64 or 128."""
    year: Literal[2021, 2024] | None = None
    """Of the homework, whose learning rates and padding changed; by default 2021. Not for the tiny preset."""
    precision: Precision = "float32"
    """Of products and activations; parameters are always float32."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab:
    """Pretrain, finetune and ask every variant; measure, judge and draw what it knows.

    Without a corpus, with generated persons: half of those of whom the corpus speaks are asked for in finetuning,
    the other half only in evaluation, beside persons of whom nothing speaks.
    """

    pretrain_corpus: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[PRETRAIN_CORPUS]")] = None
    """The text of pretraining, one document per line; by default about generated persons."""
    finetune_corpus_path: Path | None = None
    """With a corpus: lines of question, tab and place to learn from."""
    eval_corpus_path: Path | None = None
    """With a corpus: such lines about persons who are held out."""
    preset: Literal["tiny", "homework"] = "tiny"
    """Sizes and recipes: a model that two cores train in minutes, or the homework's."""
    variants: tuple[str, ...] = ("none", "vanilla", "rope")
    """none (vanilla without pretraining) and any that `knowledge pretrain` knows."""
    seeds: int = 1
    """How many seeds: generated persons, first weights and corruption follow from each."""
    seed: int = 0
    """The first of them."""
    out: Path = Path("lab/knowledge")
    """Folder for models, JSON and figures; made if absent."""
    resume: bool = False
    """Train only what is not finished in the folder, to the same bytes as without the stop."""
    save_every: float = 60.0
    """Seconds between two checkpoints."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""
    world: World = dataclasses.field(default_factory=World)
    adjustments: Adjustments = dataclasses.field(default_factory=Adjustments)

    def run(self) -> int:
        """Train, ask, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.knowledge import results
        from attnlab_theory.report import record

        began = time.monotonic()
        lab = self._lab()
        about = self._about()
        files.make_folder(self.out)
        with files.held(self.out):
            if not self.resume:
                lab.refuse_left_over()
            for stage in lab.stages():
                keeping = Keeping(writing_params_path=stage.path, resume=self.resume, save_every=self.save_every)
                if train(stage.run, keeping, told=f", seed {stage.run.training.seed}") is None:
                    return 130
            found = results.results(lab)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _lab(self) -> "Lab":
        from attnlab_theory.labs.knowledge.lab import Lab

        if self.seeds < 1:
            raise ValueError(f"--seeds is how many seeds there are, at least 1, not {self.seeds}")
        seeds = tuple(range(self.seed, self.seed + self.seeds))
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

        preset, given = PRESETS[self.preset], self.adjustments
        if given.epochs is not None and given.epochs < 1:
            raise ValueError(f"--epochs must be at least 1, not {given.epochs}")
        sizes = {"layers": given.layers, "heads": given.heads, "width": given.width, "block": given.block_size}
        pretraining = preset.pretraining
        if given.year is not None:
            if self.preset != "homework":
                raise ValueError(f"--year {given.year} is of the homework; add --preset homework")
            pretraining = PRETRAINING[given.year]
            corruption = dataclasses.replace(preset.corruption, year=given.year)
            preset = dataclasses.replace(preset, corruption=corruption)
        stages = {"finetuning": preset.finetuning, "from_scratch": preset.from_scratch}
        stages["pretraining"] = dataclasses.replace(pretraining, epochs=given.epochs or pretraining.epochs)
        stages = {n: dataclasses.replace(recipe, precision=given.precision) for n, recipe in stages.items()}
        return dataclasses.replace(preset, **_given(sizes), **stages)

    def _material(self, seed: int) -> "Material":
        from attnlab_theory.labs.knowledge.corpora import biographies
        from attnlab_theory.labs.knowledge.material import generated, read

        told = _given(vars(self.world))
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
        from attnlab_theory.labs.knowledge.results import ERROR_RATE
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
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show, verdict_table

        if self.json:
            tables = {"findings": [record.as_json(f) for f in found.findings]}
            tables["estimates"] = [estimate.as_json() for estimate in found.estimates]
            print(record.to_text({**tables, "run": about}), end="")
            return
        show(found.table())
        show(verdict_table(found.findings))
        show(
            f"\nFindings: {len(found.findings)}, of which each errs with probability at most "
            f"{about['error_rate']:g}; {about['seconds']:.0f} s. Figures and data: {self.out}/"
        )


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


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
