"""What a run of the lab is made of, as data: a small encoder from first weights, and MiniLM tuned on.

Nothing here imports jax, for the command line reads it first.
"""

import dataclasses
from collections.abc import Mapping

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.rules import OptimizerName, OrderName, PresetName
from attnlab_theory.labs.reviews.trials import Space


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstWeights:
    """The size of an encoder that begins with random weights."""

    layers: int
    heads: int
    width: int
    block: int
    """Places in the longest row."""
    dropout: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """One model and the ways to train it."""

    model: FirstWeights | None
    """None: the pretrained MiniLM, with a new head."""
    recipe: Recipe
    """Its rate is that of AdamW, and the one that all optimizers share in the homework's comparison."""
    rates: Mapping[OptimizerName, tuple[float, ...]]
    """Learning rates of which each optimizer gets its best, chosen on validation; none: it has the shared one."""
    space: Space
    """What the random search searches."""
    trials: int
    """Its budget."""
    order: OrderName = "shuffled"
    """Of the reviews, in all that is compared but other orders."""


PRESETS: dict[PresetName, Preset] = {
    "tiny": Preset(
        model=FirstWeights(layers=2, heads=4, width=32, block=48, dropout=0.1),
        recipe=Recipe(epochs=8, batch=32, rate=2e-3, rows=32, shuffled=True),
        rates={"adamw": (2e-3, 5e-3), "sgd": (0.5, 1.0), "rmsprop": (2e-3, 5e-3)},
        space=Space(batches=(32, 64), rates=(5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 8e-3), epochs=(3, 5, 8)),
        trials=8,
    ),
    "minilm": Preset(
        model=None,
        recipe=Recipe(epochs=3, batch=32, rate=1e-4, rows=32, shuffled=True),
        rates={"adamw": (5e-5, 1e-4, 2e-4, 4e-4), "sgd": (0.01, 0.1, 0.5), "rmsprop": (2e-5, 1e-4, 2e-4, 4e-4)},
        space=Space(batches=(32, 64), rates=(2e-5, 3e-5, 4e-5, 5e-5, 6e-5, 7e-5, 8e-5), epochs=(10, 15, 20)),
        trials=4,
        order="alike",
    ),
}
"""The space of minilm is the homework's, and so is its budget of four trials (uw, Q4.6)."""
