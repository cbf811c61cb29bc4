"""The ways to train that are compared: an optimizer at a learning rate, and an order of the reviews."""

import dataclasses
import math
from collections.abc import Mapping
from typing import get_args

from attnlab_theory.labs.reviews.rules import OptimizerName, OrderName
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.optimizers import SGD, AdamW, NeverZeroed, Optimizer, RMSprop

OPTIMIZERS: Mapping[OptimizerName, AdamW | SGD | RMSprop] = {
    "adamw": AdamW(betas=(0.9, 0.999), decay=0.01, clip=1.0),
    "sgd": SGD(clip=1.0),
    "rmsprop": RMSprop(clip=1.0),
}
"""With torch's numbers, and gradients clipped to length one, so that no rate of the sweep diverges at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train.

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

    @property
    def chosen(self) -> Optimizer:
        """The optimizer."""
        found = OPTIMIZERS[self.optimizer]
        return found if self.zeroed else NeverZeroed(of=found)

    def ordered(self, reviews: Reviews) -> Reviews:
        """The reviews as they lie before an epoch may shuffle them."""
        if self.order != "by-label":
            return reviews
        return reviews.take(sorted(range(len(reviews)), key=reviews.labels.__getitem__))
