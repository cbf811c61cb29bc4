"""The whole lab: what is trained, in which order, and into which files."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.options import Longer
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.recurrent import arms
from attnlab_theory.labs.recurrent.presets import ARMS, PARTS, Part, Preset
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.models.recurrent import Cell
from attnlab_theory.language.runs import Run, refuse_left_over
from attnlab_theory.seeds import key_for

CELLS: tuple[Cell, ...] = ("rnn", "w-rnn")

RATES = (1e-2, 3e-3, 1e-3, 3e-4)
"""Learning rates of the RNN that reads characters."""


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


class Read(NamedTuple):
    """What each of the models at equal parameters reads."""

    tokens: int
    """Of all epochs together, the end of every sentence among them."""
    cut: int
    """Training sentences that did not fit and lost their end."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """What is trained on what, and where the models are kept."""

    preset: Preset
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    """The sentences of a seed, by words or by characters."""
    letters: Callable[[int], Material]
    """The same by characters."""
    folder: Path
    parts: tuple[Part, ...] = PARTS
    """What is measured, and trained for that."""
    longer: Longer = "cut"
    """What happens to a sentence that does not fit into the block."""

    def path(self, name: str, seed: int) -> Path:
        """The file of a model."""
        return self.folder / f"seed-{seed}" / name

    def stages(self) -> Iterator[Stage]:
        """All that is to be trained, one after the other, each to the end of its last epoch."""
        for seed in self.seeds:
            self.path("", seed).mkdir(parents=True, exist_ok=True)
            material, preset = self.material(seed), self.preset
            count = len(material.text)
            if "equal" in self.parts:
                for arm in ARMS:
                    yield self._stage(arm, seed, arms.config_of(arm, preset, count), preset.recipe, material)
            if "growth" in self.parts:
                for cell in CELLS:
                    for hidden in preset.hidden:
                        config = arms.recurrent(cell, hidden, preset, count)
                        yield self._stage(grown(cell, hidden), seed, config, preset.growing, material)
            if "rates" in self.parts:
                letters = self.letters(seed)
                config = arms.recurrent("rnn", preset.hidden[-1], preset, len(letters.text))
                for rate in RATES:
                    recipe = dataclasses.replace(preset.growing, rate=rate)
                    yield self._stage(at_rate(rate), seed, config, recipe, letters, block=self.block_of_letters)

    def _stage(
        self,
        name: str,
        seed: int,
        config: arms.Config,
        recipe: Recipe,
        material: Material,
        *,
        block: int | None = None,
    ) -> Stage:
        run = next_token(
            material,
            lambda: arms.first(config, key_for(seed, "parameters")),
            config,
            dataclasses.replace(recipe, seed=seed),
            block=block or self.preset.block,
            origin={"stage": "train", "variant": name},
            longer=self.longer,
            mean="tokens",
            stops_early=False,
            kinds=arms.KINDS,
        )
        return Stage(run, self.path(name, seed))

    @property
    def block_of_letters(self) -> int:
        """Places of a row of the RNN that learns to spell."""
        return 2 * self.preset.block

    def asked(self, seed: int) -> Encoded:
        """The test sentences as every model of a block reads them.

        Raises:
            ValueError: as `encoded`.
        """
        material = self.material(seed)
        return encoded(
            material.test, material.text, self.preset.block, longer=self.longer, source="the test sentences"
        )

    def read(self, seed: int) -> Read:
        """How much each of the models at equal parameters reads.

        Raises:
            ValueError: as `encoded`.
        """
        material = self.material(seed)
        rows = encoded(material.train, material.text, self.preset.block, longer=self.longer, source=material.source)
        return Read(self.preset.recipe.epochs * int(rows.lengths.sum()), rows.cut)

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
