"""What a run of the lab is made of, as data; nothing here imports jax, for the command line reads it first."""

import dataclasses
from typing import Literal

from attnlab_theory.labs.recipes import Recipe

ArmName = Literal["rnn", "w-rnn", "gpt"]
"""The models that are compared."""

ARMS: tuple[ArmName, ...] = ("rnn", "w-rnn", "gpt")

ActivationName = Literal["sigmoid", "relu", "tanh", "swish", "gelu"]
"""What the homework allows for f1 and f2."""

Part = Literal["equal", "growth", "rates", "tuning"]
"""What is measured."""

PARTS: tuple[Part, ...] = ("equal", "growth", "rates", "tuning")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """Sizes and recipes. No recipe stops early, so that all models of a part read equally many tokens."""

    layers: int = 2
    """Of the GPT."""
    heads: int = 4
    width: int = 32
    block: int = 64
    """Places of a row, for all models."""
    activation: ActivationName = "tanh"
    """f1 and f2 of the recurrent networks, but for the homework's tuning runs."""
    recipe: Recipe = dataclasses.field(
        default_factory=lambda: Recipe(epochs=6, batch=32, rate=3e-3, rows=32, shuffled=True)
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
