"""The whole lab: what is trained, in which order, and into which files."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.recurrent import arms
from attnlab_theory.labs.recurrent.presets import ARMS, Preset
from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.models.recurrent import Cell, RecurrentConfig
from attnlab_theory.language.runs import Run, refuse_left_over
from attnlab_theory.seeds import key_for

CELLS: tuple[Cell, ...] = ("rnn", "w-rnn")

RATES = (1e-2, 3e-3, 1e-3, 3e-4)
"""Learning rates of the RNN that reads characters."""

SPACE = "_"
"""What stands for a space where every character is a token."""


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """What is trained on what, and where the models are kept."""

    preset: Preset
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    """The sentences of a seed, by words."""
    letters: Callable[[int], Material]
    """The same by characters."""
    folder: Path

    def path(self, name: str, seed: int) -> Path:
        """The file of a model."""
        return self.folder / f"seed-{seed}" / name

    def stages(self) -> Iterator[Stage]:
        """All that is to be trained, one after the other."""
        for seed in self.seeds:
            self.path("", seed).mkdir(parents=True, exist_ok=True)
            material, preset = self.material(seed), self.preset
            count = len(material.text)
            for arm in ARMS:
                yield self._stage(arm, seed, arms.config_of(arm, preset, count), preset.recipe, material)
            for cell in CELLS:
                for hidden in preset.hidden:
                    config = RecurrentConfig(vocabulary=count, hidden=hidden, cell=cell)
                    yield self._stage(grown(cell, hidden), seed, config, preset.growing, material, whole=True)
            for rate in RATES:
                text = self.letters(seed)
                config = RecurrentConfig(vocabulary=len(text.text), hidden=preset.hidden[-1])
                recipe = dataclasses.replace(preset.growing, rate=rate)
                yield self._stage(at_rate(rate), seed, config, recipe, text, whole=True, block=2 * preset.block)

    def _stage(
        self,
        name: str,
        seed: int,
        config: arms.Config,
        recipe: Recipe,
        material: Material,
        *,
        whole: bool = False,
        block: int | None = None,
    ) -> Stage:
        run = next_token(
            material,
            lambda: arms.first(config, key_for(seed, "parameters")),
            config,
            dataclasses.replace(recipe, seed=seed),
            block=block or self.preset.block,
            origin={"stage": "train", "variant": name},
            mean="tokens",
            stops_early=not whole,
            kinds=arms.KINDS,
        )
        return Stage(run, self.path(name, seed))

    def refuse_left_over(self) -> None:
        """Refuse to start anew where a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        names = [*ARMS, *(grown(c, h) for c in CELLS for h in self.preset.hidden), *map(at_rate, RATES)]
        for seed in self.seeds:
            for name in names:
                refuse_left_over(self.path(name, seed))

    def saved(self, name: str, seed: int) -> Saved:
        """A trained model.

        Raises:
            ValueError: if it is missing.
        """
        return load_model(self.path(name, seed), kinds=arms.KINDS)

    def untrained(self, name: str, seed: int) -> Any:
        """The same model before its first step."""
        return arms.first(self.saved(name, seed).model.config, key_for(seed, "parameters"))


def grown(cell: Cell, hidden: int) -> str:
    """What a model of this hidden size is called."""
    return f"{cell}-{hidden}"


def at_rate(rate: float) -> str:
    """What a model of characters that learned at this rate is called."""
    return f"letters-{rate:g}"
