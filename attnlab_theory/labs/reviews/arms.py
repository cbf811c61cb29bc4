"""The arms and presets of the lab, as data: models with first weights or pretrained ones, and ways to train them.

Nothing here imports jax, because the command line reads it first.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from attnlab_theory.labs.recipes import Recipe, Size
from attnlab_theory.labs.reviews.trials import Space

if TYPE_CHECKING:
    from attnlab_theory.language.corpora.reviews import Reviews

OptimizerName = Literal["adamw", "sgd", "rmsprop"]
"""The names of the optimizers."""

OrderName = Literal["shuffled", "alike", "file", "by-label"]
"""The order of the reviews: another in every epoch; another in every epoch, with similar lengths in a batch; that
of the file; or all unfavourable ones first.
"""

ArmName = OptimizerName | OrderName | Literal["never-zeroed"]
"""The arms. Each differs in one thing from the base arm: the optimizer, the order, or the gradients."""

ARMS: tuple[ArmName, ...] = ("adamw", "sgd", "rmsprop", "shuffled", "file", "by-label", "never-zeroed")
"""The arms of a run by default."""


def named(arms: Sequence[ArmName], choices: Any) -> tuple[Any, ...]:
    """The arms that are one of the choices."""
    return tuple(arm for arm in arms if arm in get_args(choices))


SHUFFLED: tuple[OrderName, ...] = ("shuffled", "alike")
"""The orders that change in every epoch."""

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
    """Whether a step uses its own gradient. Else it uses the sum over all steps, as if nobody calls `zero_grad`."""

    def __post_init__(self) -> None:
        for name, choices in (("optimizer", OptimizerName), ("order", OrderName)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ValueError(f"{name} is one of {known}, not {getattr(self, name)!r}")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"the learning rate must be positive and finite, not {self.rate}")

    @property
    def name(self) -> str:
        """The name of its file."""
        order = "" if self.order == "shuffled" else f".{self.order}"
        return f"{self.optimizer}.lr-{self.rate:g}{order}" + ("" if self.zeroed else ".never-zeroed")

    def ordered(self, reviews: "Reviews") -> "Reviews":
        """The reviews in their order before an epoch may shuffle them."""
        if self.order != "by-label":
            return reviews
        return reviews.take(sorted(range(len(reviews)), key=reviews.labels.__getitem__))


BASE = "base"
"""The part of the base arm, with which all others are compared: AdamW at the shared rate, in the preset's order."""

NEVER_ZEROED = "never zeroed"

SHARED: Mapping[OptimizerName, str] = {name: f"{name} at the shared rate" for name in get_args(OptimizerName)}
BEST: Mapping[OptimizerName, str] = {name: f"{name} at its chosen rate" for name in get_args(OptimizerName)}
ORDER: Mapping[OrderName, str] = {name: f"order {name}" for name in get_args(OrderName)}
"""The other parts: the roles in which arms are compared. One arm may play several."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """One model and the ways to train it."""

    model: Size | None
    """The size of a model with first weights. None: the pretrained MiniLM, with a new head."""
    recipe: Recipe
    """The recipe. Its rate is that of AdamW, and all optimizers share it in the homework's comparison."""
    rates: Mapping[OptimizerName, tuple[float, ...]]
    """The learning rates of each optimizer's sweep. The best on validation is its own. None: the shared rate."""
    space: Space
    """The space of the random search."""
    trials: int
    """The number of trials of the random search."""
    order: OrderName = "shuffled"
    """The order of the reviews in all arms that do not compare orders."""


PRESETS: dict[PresetName, Preset] = {
    "tiny": Preset(
        model=Size(layers=2, heads=4, width=32, block=48, dropout=0.1),
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
