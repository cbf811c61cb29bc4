"""What a run of the lab is made of, as data; nothing here imports jax, for the command line reads it first."""

import dataclasses
from typing import Literal

from attnlab_theory.labs.recipes import Recipe

ArmName = Literal["rnn", "w-rnn", "gpt"]
"""The models that are compared."""

ARMS: tuple[ArmName, ...] = ("rnn", "w-rnn", "gpt")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """Sizes and recipes."""

    layers: int = 2
    """Of the GPT."""
    heads: int = 4
    width: int = 32
    block: int = 64
    """Places of a row, for all models."""
    recipe: Recipe = dataclasses.field(
        default_factory=lambda: Recipe(epochs=12, batch=32, rate=3e-3, rows=32, shuffled=True)
    )
    """Of the comparison at equal parameters."""
    hidden: tuple[int, ...] = (16, 32, 64, 128)
    """Hidden sizes at which RNN and W-RNN are compared."""
    growing: Recipe = dataclasses.field(
        default_factory=lambda: Recipe(epochs=4, batch=32, rate=3e-3, rows=32, shuffled=True)
    )
    """Of that comparison."""


TINY = Preset()
"""Two cores take less than four minutes for all of it."""
