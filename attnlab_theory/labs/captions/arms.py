"""The arms and presets of the lab, as data. Nothing here imports jax, because the command line reads it first.

Source of the homework's numbers: Tsinghua University, Artificial Neural Networks, homework 3 (`main.py` and its
configuration).
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal

from attnlab_theory.labs.recipes import Recipe, Size

ArmName = Literal["scratch", "shuffled", "pretrained", "heads-1", "heads-6", "heads-8", "permuted", "dropped-heads"]
"""The models that are compared."""

DecodingName = Literal[
    "random",
    "random-t0.7",
    "top_p0.9",
    "top_p0.9-t0.7",
    "random-t0.5",
    "random-t0.85",
    "random-t1.2",
    "top_p0.5",
    "top_p0.7",
    "top_p0.95",
    "top_k5",
    "top_k40",
    "min_p0.05",
]
"""The ways to choose the next token that are compared. t is the temperature."""

PresetName = Literal["tiny", "homework"]

BASE: ArmName = "scratch"
"""The arm with which the others are compared."""

HOMEWORK: tuple[DecodingName, ...] = ("random", "random-t0.7", "top_p0.9", "top_p0.9-t0.7")
"""The homework's four: two temperatures, with and without a cut."""

DECODINGS: Mapping[DecodingName, Mapping[str, float | int]] = {
    "random": {},
    "random-t0.7": {"temperature": 0.7},
    "top_p0.9": {"top_p": 0.9},
    "top_p0.9-t0.7": {"top_p": 0.9, "temperature": 0.7},
    "random-t0.5": {"temperature": 0.5},
    "random-t0.85": {"temperature": 0.85},
    "random-t1.2": {"temperature": 1.2},
    "top_p0.5": {"top_p": 0.5},
    "top_p0.7": {"top_p": 0.7},
    "top_p0.95": {"top_p": 0.95},
    "top_k5": {"top_k": 5},
    "top_k40": {"top_k": 40},
    "min_p0.05": {"min_p": 0.05},
}
"""The numbers of each way, by the names of `decode.Sampling`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arm:
    """The difference of an arm from the preset."""

    heads: int | None = None
    shuffled: bool = False
    """Whether every epoch has an order of its own. Otherwise it is the order of the file."""
    pretrained: bool = False
    """Whether the model has learned another text first."""
    permuted: bool = False
    """Whether the features are permuted before they are cut into heads."""
    head_dropout: float = 0.0
    """The chance that a whole head is dropped in a step of training."""


ARMS: Mapping[str, Arm] = {
    "scratch": Arm(),
    "shuffled": Arm(shuffled=True),
    "pretrained": Arm(pretrained=True),
    "heads-1": Arm(heads=1),
    "heads-6": Arm(heads=6),
    "heads-8": Arm(heads=8),
    "permuted": Arm(permuted=True),
    "dropped-heads": Arm(head_dropout=0.1),
}
"""All arms by name. Each is the preset with one thing changed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset(Size):
    """One model and one way to train it."""

    recipe: Recipe
    """`Recipe.epochs` is the highest number of epochs; training stops early."""


PRESETS: dict[PresetName, Preset] = {
    "tiny": Preset(
        layers=2,
        heads=12,
        width=48,
        block=64,
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

ASKED_WITH: Mapping[str, int] = {
    "openings-lose-diversity": 10,
    "training-loss-goes-on-falling": 12,
    "pretraining-helps": 12,
    "pretraining-saves-epochs": 12,
    "pretraining-narrows-the-gap": 12,
}
"""With fewer seeds of the preset tiny, these statements are not asked of the built-in captions. Five seeds decided
few of them (`figures/captions`), and so many did (`figures/captions/fresh`)."""
