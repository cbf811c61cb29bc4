"""What the knowledge lab trains, in two stages: pretraining on a text, and finetuning on questions."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory.labs.engine.lab import Lab, Stage, Unit
from attnlab_theory.labs.engine.run import tell
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.arms import UNTRAINED, Preset
from attnlab_theory.labs.knowledge.corpora.birthplaces import NameDataset
from attnlab_theory.labs.knowledge.material import Material
from attnlab_theory.labs.knowledge.predictions import predictions, prompts
from attnlab_theory.labs.knowledge.stages import finetuning, pretraining
from attnlab_theory.labs.knowledge.variants import configured
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.plurals import agree, several


@dataclasses.dataclass(frozen=True, kw_only=True)
class Knowledge(Lab):
    """Models that read about the same persons, and one that reads nothing.

    Arms are names of `variants.VARIANTS`, and "none", which is vanilla without pretraining.

    Raises:
        ValueError: if there is no arm, or one is unknown, named twice or does not fit the preset's rows.
    """

    preset: Preset
    material: Callable[[int], Material]
    """The corpus and the questions of a seed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            scored = self.config(arm, vocabulary=2).mixer.scored
            if arm != UNTRAINED and self.preset.pretraining.packed and not scored:
                raise ValueError(
                    f"{arm} cannot keep apart the documents that this preset packs into a row; take the "
                    "homework's preset, which packs none"
                )

    def config(self, arm: str, vocabulary: int) -> GPTConfig:
        """The configuration of an arm.

        Raises:
            ValueError: if there is no such arm, or it does not fit the preset.
        """
        names = ("layers", "heads", "width", "block", "dropout")
        sizes: dict[str, Any] = {name: getattr(self.preset, name) for name in names}
        return configured("vanilla" if arm == UNTRAINED else arm, vocabulary=vocabulary, **sizes)

    def waves(self) -> Iterator[Sequence[Unit]]:
        """The one wave. First the questions of every seed are checked, because training takes hours.

        Raises:
            ValueError: if there are no questions, one is too long for the block, or a character is unknown.
        """
        for material in map(self.material, self.seeds):
            for questions in material.by_group.values():
                prompts(questions, material.corpus.characters, self.preset.block)
            NameDataset(material.finetuning, self.preset.block, characters=material.corpus.characters)
        _say_what_is_asked_twice(self.material(self.seeds[0]))
        yield from super().waves()

    def pretrained(self, arm: str, seed: int) -> Path:
        """The file of a pretrained model."""
        return self.path(f"{arm}.pretrained", seed)

    def finetuned(self, arm: str, seed: int) -> Path:
        """The file of the finetuned model, which answers the questions."""
        return self.path(f"{arm}.finetuned", seed)

    def stages(self, arm: str, seed: int) -> Iterator[Stage]:
        """Pretraining, which the arm "none" does not have, and finetuning.

        Raises:
            ValueError: if a number of the preset is out of range, or a text or a question does not fit the block.
        """
        material, preset = self.material(seed), self.preset
        corpus = material.corpus
        start, recipe = self.config(arm, len(corpus.characters)), preset.from_scratch
        if arm != UNTRAINED:
            run = pretraining(corpus, start, dataclasses.replace(preset.pretraining, seed=seed), preset.corruption)
            yield Stage(run, self.pretrained(arm, seed))
            start, recipe = load_model(self.pretrained(arm, seed)), preset.finetuning
        recipe = dataclasses.replace(recipe, seed=seed)
        yield Stage(finetuning(corpus, material.finetuning, start, recipe), self.finetuned(arm, seed))

    def answers(self) -> Answers:
        """The answers of every model about every person.

        Raises:
            ValueError: if a model is missing, or cannot take the questions.
        """
        every = ((arm, seed, self.material(seed)) for seed in self.seeds for arm in self.arms)
        return Answers(
            answer
            for arm, seed, material in every
            for answer in predictions(
                load_model(self.finetuned(arm, seed)).model, material.questions, material.corpus.characters
            ).of(material.groups, arm=arm, seed=seed)
        )


def _say_what_is_asked_twice(material: Material) -> None:
    """Say how many persons of the evaluation are in the finetuning questions too: they are not held out."""
    held_out, learned = material.by_group["held-out"].texts, set(material.finetuning.texts)
    twice = [question for question in held_out if question in learned]
    if twice:
        tell(
            f"attnlab: {len(twice)} of {several(len(held_out), 'question')} for evaluation "
            f"{agree(len(twice), 'is', 'are')} in the file for finetuning too, "
            f"{twice[0]!r} first: a person that is learned is not held out"
        )
