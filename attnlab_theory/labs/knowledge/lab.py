"""The whole lab: every variant trained through its stages for every seed, and asked about everybody.

`stages` says what is to be trained, one after the other; whoever iterates trains. What is finished under the folder
need not be trained again: `language.runs` knows whether it is the same.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from attnlab_theory.labs.knowledge import evaluate
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answered, Answers
from attnlab_theory.labs.knowledge.corpora.biographies import Group
from attnlab_theory.labs.knowledge.corpora.birthplaces import NameDataset
from attnlab_theory.labs.knowledge.material import Material
from attnlab_theory.labs.knowledge.presets import Preset
from attnlab_theory.labs.knowledge.stages import finetuning, pretraining
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.runs import Run, refuse_left_over


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """Who is trained on what, and where the models are kept.

    Raises:
        ValueError: if there is no seed or no variant, or one is unknown or named twice.
    """

    preset: Preset
    variants: tuple[str, ...]
    """Names of `variants.VARIANTS`, and "none", which is vanilla without pretraining."""
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    """The corpus and the questions of a seed."""
    folder: Path
    """The folder for the models."""

    def __post_init__(self) -> None:
        if not self.variants or not self.seeds:
            raise ValueError("a run needs at least one variant and one seed")
        for variant in self.variants:
            if self.variants.count(variant) > 1:
                raise ValueError(f"variant {variant} is named twice; once is enough")
            config = self.preset.config(_architecture(variant), vocabulary=2)
            if variant != UNTRAINED and self.preset.pretraining.packed and not config.mixer.scored:
                raise ValueError(
                    f"{variant} cannot keep apart the documents that this preset packs into a row; take the "
                    "homework's preset, which packs none"
                )

    def pretrained(self, variant: str, seed: int) -> Path:
        """The file of a pretrained model."""
        return self.folder / f"seed-{seed}" / f"{variant}.pretrained"

    def finetuned(self, variant: str, seed: int) -> Path:
        """The file of the model that is asked."""
        return self.folder / f"seed-{seed}" / f"{variant}.finetuned"

    def stages(self) -> Iterator[Stage]:
        """All that is to be trained; each stage must be, before the next is asked for.

        Raises:
            ValueError: as `pretraining` and `finetuning`; before the first stage if questions are at fault.
        """
        for seed in self.seeds:
            material = self.material(seed)
            for questions in material.asked.values():
                # Before hours of training.
                evaluate.prompts(questions, material.corpus.characters, self.preset.block)
            NameDataset(material.finetuning, self.preset.block, characters=material.corpus.characters)
            self.finetuned("", seed).parent.mkdir(parents=True, exist_ok=True)
            for variant in self.variants:
                yield from self._stages(variant, seed, material)

    def _stages(self, variant: str, seed: int, material: Material) -> Iterator[Stage]:
        preset, corpus = self.preset, material.corpus
        start = preset.config(_architecture(variant), len(corpus.characters))
        recipe = preset.from_scratch
        if variant != UNTRAINED:
            run = pretraining(corpus, start, dataclasses.replace(preset.pretraining, seed=seed), preset.corruption)
            yield Stage(run, self.pretrained(variant, seed))
            start, recipe = load_model(self.pretrained(variant, seed)), preset.finetuning
        recipe = dataclasses.replace(recipe, seed=seed)
        yield Stage(finetuning(corpus, material.finetuning, start, recipe), self.finetuned(variant, seed))

    def refuse_left_over(self) -> None:
        """Refuse to start anew where a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        for seed in self.seeds:
            for variant in self.variants:
                for path in (self.pretrained(variant, seed), self.finetuned(variant, seed)):
                    refuse_left_over(path)

    def answers(self) -> Answers:
        """What every model says of everybody, when all stages are trained.

        Raises:
            ValueError: if a model is missing, or as `evaluate.answers`.
        """
        found: list[Answered] = []
        for seed in self.seeds:
            material = self.material(seed)
            for variant in self.variants:
                model = load_model(self.finetuned(variant, seed)).model
                found += asked(model, material, variant=variant, seed=seed)
        return Answers(found)


def asked(model: GPT, material: Material, *, variant: str, seed: int) -> Answers:
    """What one model says of everybody.

    Raises:
        ValueError: as `evaluate.answers`, or if a question is no "Where was X born?".
    """
    said = evaluate.answers(model, material.questions, material.corpus.characters)
    return answered(said, material.groups, variant=variant, seed=seed)


def answered(said: evaluate.Answers, groups: Sequence[Group], *, variant: str, seed: int) -> Answers:
    """What was said to questions whose places are known, as the analyses want it.

    Args:
        said: the answers of one model.
        groups: of the person of each question.
        variant, seed: of the model.

    Raises:
        ValueError: if the questions have no places, or one is no "Where was X born?".
    """
    questions = said.questions
    rows = zip(questions.names, questions.answers, said.predictions, said.log_probability, groups, strict=True)
    return Answers(
        Answered(
            name=name,
            gold=gold,
            predicted=predicted,
            log_probability=float(log_probability),
            group=group,
            variant=variant,
            seed=seed,
        )
        for name, gold, predicted, log_probability, group in rows
    )


def _architecture(variant: str) -> str:
    return "vanilla" if variant == UNTRAINED else variant
