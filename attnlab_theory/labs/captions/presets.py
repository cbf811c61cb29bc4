"""What a run of the lab is made of, as data: the homework's numbers, and small ones for two cores.

Nothing here imports jax, for the command line reads it first.
Source: Tsinghua University, Artificial Neural Networks, homework 3 (`main.py` and its configuration).
"""

import dataclasses
from typing import Any, Literal

from attnlab_theory.labs.recipes import Recipe

PresetName = Literal["tiny", "homework"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """One model and one way to train it."""

    layers: int
    heads: int
    width: int
    block: int
    dropout: float
    recipe: Recipe
    """`Recipe.epochs` is the highest number of epochs; training stops early."""

    @property
    def model(self) -> dict[str, Any]:
        """The sizes and rates by the names of `GPTConfig`."""
        rates = {f"{where}_dropout": self.dropout for where in ("embedding", "residual", "attention")}
        return {name: getattr(self, name) for name in ("layers", "heads", "width", "block")} | rates


PRESETS: dict[PresetName, Preset] = {
    "tiny": Preset(
        layers=2,
        heads=12,
        width=48,
        block=64,
        dropout=0.0,
        recipe=Recipe(epochs=20, batch=32, rate=3e-3, micro_batches="packed"),
    ),
    "homework": Preset(
        layers=3,
        heads=12,
        width=768,
        block=35,
        dropout=0.1,
        recipe=Recipe(epochs=20, batch=32, rate=1e-4, micro_batches="packed"),
    ),
}
