"""The whole lab: every arm trained for every seed.

`stages` says what is to be trained, one after the other; whoever iterates trains. What is finished under the folder
need not be trained again: `language.runs` knows whether it is the same.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from attnlab_theory.labs.captions import stages
from attnlab_theory.labs.captions.arms import arm
from attnlab_theory.labs.captions.presets import Preset
from attnlab_theory.labs.captions.sweep import Named
from attnlab_theory.labs.options import Longer, Mean
from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.gpt import GPTConfig
from attnlab_theory.language.runs import Run, refuse_left_over


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """Which models are trained on what, and where they are kept.

    Raises:
        ValueError: if there is no seed or no arm, or one is unknown or named twice.
    """

    preset: Preset
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    """The captions of a seed."""
    other: Callable[[int], Material]
    """The text of pretraining of a seed, in the vocabulary of the captions."""
    folder: Path
    """The folder for the models."""
    longer: Longer = "cut"
    mean: Mean = "sentences"

    def __post_init__(self) -> None:
        if not self.arms or not self.seeds:
            raise ValueError("a run needs at least one arm and one seed")
        for name in self.arms:
            arm(name).config(self.config(2))
            if self.arms.count(name) > 1:
                raise ValueError(f"arm {name} is named twice; once is enough")

    def config(self, vocabulary: int) -> GPTConfig:
        """The preset's model."""
        return GPTConfig(vocabulary=vocabulary, **self.preset.model)

    def path(self, name: str, seed: int) -> Path:
        """The file of a trained model."""
        return self.folder / f"seed-{seed}" / name

    def stages(self) -> Iterator[Stage]:
        """All that is to be trained; each stage must be, before the next is asked for.

        Raises:
            ValueError: as `stages.training`.
        """
        for seed in self.seeds:
            material = self.material(seed)
            self.path("", seed).mkdir(parents=True, exist_ok=True)
            for name in self.arms:
                yield from self._stages(name, seed, material)

    def _stages(self, name: str, seed: int, material: Material) -> Iterator[Stage]:
        chosen, path = arm(name), self.path(name, seed)
        start: stages.Start = chosen.config(self.config(len(material.text)))
        recipe = dataclasses.replace(self.preset.recipe, seed=seed)
        training = functools.partial(stages.training, variant=name, longer=self.longer, mean=self.mean)
        if chosen.pretrained:
            before = path.with_name(f"{name}.before")
            run = training(self.other(seed), start, recipe, stage="pretrain")
            yield Stage(run, before)
            start = load_model(before)
        recipe = dataclasses.replace(recipe, shuffled=chosen.shuffled)
        run = training(material, start, recipe, permute=chosen.permuted)
        yield Stage(run, path)

    def refuse_left_over(self) -> None:
        """Refuse to start anew where a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        for seed in self.seeds:
            for name in self.arms:
                for path in (self.path(name, seed), self.path(f"{name}.before", seed)):
                    refuse_left_over(path)

    def models(self) -> Iterator[Named]:
        """Every trained model, one at a time.

        Raises:
            ValueError: if one is missing.
        """
        for seed in self.seeds:
            for name in self.arms:
                yield Named(arm=name, seed=seed, saved=load_model(self.path(name, seed)))
