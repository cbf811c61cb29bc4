"""The arms and presets of the lab, as data. Nothing here imports jax, because the command line reads it first."""

import dataclasses
from typing import Literal

from attnlab_theory.labs.recipes import Recipe, Size

ArmName = Literal["separate", "additive", "shared-qk", "shared-qkv", "zero-after", "zero-before"]
"""The models that are compared."""

CAUSAL: tuple[ArmName, ...] = ("separate", "additive", "shared-qk", "shared-qkv")
"""The arms that do not see later tokens."""

LEAKING: tuple[ArmName, ...] = ("zero-after", "zero-before")
"""The arms that see later tokens. One model shows a leak, so they are trained for the first seeds only."""

HONEST_SEEDS = 5
"""How many of the first seeds get honest losses, which no later token can change."""

ASKED: tuple[str, ...] = (
    "After learning language models model natural language .",
    "The quick brown fox jumps over the lazy dog .",
    "Amidst the twilight , the ancient ruins whispered secrets long forgotten .",
    "Quantum entanglement fascinates physicists and philosophers alike , bridging worlds with invisible threads .",
)
"""The homework's four test sentences, cut into words as its data are."""

PresetName = Literal["tiny", "homework"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset(Size):
    """One model and one way to train it."""

    recipe: Recipe


PRESETS: dict[PresetName, Preset] = {
    "tiny": Preset(
        layers=2, heads=2, width=32, block=64, recipe=Recipe(epochs=4, batch=32, rate=3e-3, rows=32, shuffled=True)
    ),
    # Of a vocabulary of 26,602 words 1.4 million parameters are nearly all in its two tables.
    "homework": Preset(
        layers=2, heads=2, width=26, block=100, recipe=Recipe(epochs=1, batch=32, rate=5e-4, rows=32, shuffled=True)
    ),
}
