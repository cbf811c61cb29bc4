"""The arms and presets of the lab, as data. Nothing here imports jax, because the command line reads it first."""

import dataclasses
from typing import Literal, NamedTuple

from attnlab_theory.labs.recipes import Recipe, Size

CellName = Literal["rnn", "w-rnn", "gpt"]
"""The kinds of models: recurrent networks, and a GPT."""

ARMS: tuple[CellName, ...] = ("rnn", "w-rnn", "gpt")
"""The arms that are compared at equal numbers of parameters."""

CELLS: tuple[Literal["rnn", "w-rnn"], ...] = ("rnn", "w-rnn")
"""The arms that are compared by hidden size."""

RATES = (1e-2, 3e-3, 1e-3, 3e-4)
"""Learning rates of the RNN that reads characters."""

FURTHEST = 10
"""The largest distance at which gradients are measured, in tokens."""

ActivationName = Literal["sigmoid", "relu", "tanh", "swish", "gelu"]
"""The homework's choices for f1 and f2, the activations of the hidden layers."""

Part = Literal["equal", "growth", "rates", "tuning"]
"""The parts of the lab's measurements. Each part but the last has arms of its own."""

PARTS: tuple[Part, ...] = ("equal", "growth", "rates", "tuning")


class Arm(NamedTuple):
    """A model that is compared with others, and how it is trained."""

    name: str
    cell: CellName
    recipe: Recipe
    hidden: int | None = None
    """Hidden units. None: as many as give it about as many parameters as the GPT."""
    letters: bool = False
    """Whether it reads characters, in rows of `Preset.letters` places."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset(Size):
    """Sizes and recipes. No recipe stops early, so that all arms of a part read equally many tokens."""

    layers: int = 2
    """The sizes of the GPT."""
    heads: int = 4
    width: int = 32
    block: int = 64
    """Places of a row, for all models but those that read characters."""
    activation: ActivationName = "tanh"
    """f1 and f2 of the recurrent networks, but for the homework's tuning runs."""
    recipe: Recipe = dataclasses.field(
        default_factory=lambda: Recipe(epochs=6, batch=32, rate=3e-3, rows=32, shuffled=True)
    )
    """The recipe of the comparison at equal numbers of parameters."""
    hidden: tuple[int, ...] = (16, 32, 64, 128)
    """Hidden sizes at which RNN and W-RNN are compared."""
    growing: Recipe = dataclasses.field(
        default_factory=lambda: Recipe(epochs=4, batch=32, rate=3e-3, rows=32, shuffled=True)
    )
    """The recipe of the comparison by hidden size."""

    @property
    def letters(self) -> int:
        """Places of a row, for the RNN that reads characters."""
        return 2 * self.block

    def arms(self, part: Part) -> tuple[Arm, ...]:
        """The arms of a part. The tuning runs have none, because their models are not kept."""
        each: dict[Part, tuple[Arm, ...]] = {
            "equal": tuple(Arm(cell, cell, self.recipe) for cell in ARMS),
            "growth": tuple(
                Arm(f"{cell}-{hidden}", cell, self.growing, hidden) for cell in CELLS for hidden in self.hidden
            ),
            "rates": tuple(
                Arm(f"letters-{rate:g}", "rnn", recipe, self.hidden[-1], letters=True)
                for rate in RATES
                for recipe in [dataclasses.replace(self.growing, rate=rate)]
            ),
        }
        return each.get(part, ())

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The names of the arms of each part. The name of a part stands for all of its arms."""
        return {part: tuple(arm.name for arm in self.arms(part)) for part in PARTS}


TINY = Preset()
"""The presets. Two cores take less than four minutes for the whole run."""
