"""The models that are compared: each is the preset with one thing changed."""

import dataclasses
from collections.abc import Mapping

from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.language.models.mixers import DroppedHeads


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arm:
    """What differs from the preset."""

    said: str
    """For people."""
    heads: int | None = None
    shuffled: bool = False
    """Whether every epoch has an order of its own."""
    pretrained: bool = False
    """Whether the model has learned another text first."""
    permuted: bool = False
    """Whether the features are permuted before they are cut into heads."""
    head_dropout: float = 0.0
    """The chance that a whole head is dropped in a step of training."""

    def config(self, preset: GPTConfig) -> GPTConfig:
        """The model of this arm.

        Raises:
            ValueError: as `GPTConfig`.
        """
        changed = preset if self.heads is None else dataclasses.replace(preset, heads=self.heads)
        return dataclasses.replace(changed, mixer=DroppedHeads(self.head_dropout)) if self.head_dropout else changed


ARMS: Mapping[str, Arm] = {
    "scratch": Arm(said="first weights, sentences in the order of the file"),
    "shuffled": Arm(said="first weights, sentences in another order in every epoch", shuffled=True),
    "pretrained": Arm(said="weights that were trained on another text first", pretrained=True),
    "heads-1": Arm(said="one head", heads=1),
    "heads-6": Arm(said="6 heads", heads=6),
    "heads-8": Arm(said="8 heads", heads=8),
    "permuted": Arm(said="features permuted before they are cut into heads", permuted=True),
    "dropped-heads": Arm(said="every head dropped in a tenth of the steps", head_dropout=0.1),
}
"""All arms by name. Explicit: no discovery."""


def arm(name: str) -> Arm:
    """The arm of a name.

    Raises:
        ValueError: if there is none.
    """
    if name not in ARMS:
        raise ValueError(f"an arm is one of {', '.join(ARMS)}, not {name!r}")
    return ARMS[name]
