"""What a run of the lab is made of, as data: ways to train, and models. From first weights, or MiniLM tuned on.

Nothing here imports jax, for the command line reads it first.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.trials import Space

if TYPE_CHECKING:
    from attnlab_theory.language.corpora.reviews import Reviews

OptimizerName = Literal["adamw", "sgd", "rmsprop"]
"""From gradients to steps."""

OrderName = Literal["shuffled", "alike", "file", "by-label"]
"""The order of the reviews: another in every epoch; the same, but with batches of similar length; that of the file;
all unfavourable ones first."""

ArmName = OptimizerName | OrderName | Literal["never-zeroed"]
"""What one thing differs in from the arm that all are compared with: the optimizer, the order, or the gradients."""

ARMS: tuple[ArmName, ...] = ("adamw", "sgd", "rmsprop", "shuffled", "file", "by-label", "never-zeroed")
"""What a run compares if nothing else is said."""

SHUFFLED: tuple[OrderName, ...] = ("shuffled", "alike")
"""Orders that are another in every epoch."""

PresetName = Literal["tiny", "minilm"]
"""Model and recipe."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to train: an optimizer at a learning rate, and an order of the reviews.

    Raises:
        ValueError: if the optimizer or the order is unknown, or the rate is not positive and finite.
    """

    optimizer: OptimizerName
    rate: float
    """The highest learning rate."""
    order: OrderName = "shuffled"
    zeroed: bool = True
    """Whether a step has its own gradient; else that of all steps so far, as where nobody calls `zero_grad`."""

    def __post_init__(self) -> None:
        for name, choices in (("optimizer", OptimizerName), ("order", OrderName)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ValueError(f"{name} is one of {known}, not {getattr(self, name)!r}")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"the learning rate must be positive and finite, not {self.rate}")

    @property
    def name(self) -> str:
        """Of its file."""
        order = "" if self.order == "shuffled" else f".{self.order}"
        return f"{self.optimizer}.lr-{self.rate:g}{order}" + ("" if self.zeroed else ".never-zeroed")

    def ordered(self, reviews: "Reviews") -> "Reviews":
        """The reviews as they lie before an epoch may shuffle them."""
        if self.order != "by-label":
            return reviews
        return reviews.take(sorted(range(len(reviews)), key=reviews.labels.__getitem__))


BASE = "base"
"""The part of the arm that all others are compared with: AdamW at the shared rate, in the preset's order."""

NEVER_ZEROED = "never zeroed"

SHARED: Mapping[OptimizerName, str] = {name: f"{name} at the shared rate" for name in get_args(OptimizerName)}
BEST: Mapping[OptimizerName, str] = {name: f"{name} at its best rate" for name in get_args(OptimizerName)}
ORDER: Mapping[OrderName, str] = {name: f"order {name}" for name in get_args(OrderName)}
"""The other parts: what an arm is compared as. One arm may play several."""


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
