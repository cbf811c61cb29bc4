"""The whole lab: every mixer trained for every seed."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from attnlab_theory.labs.mixers.leaky import KINDS, OneProjection, ZeroMask
from attnlab_theory.labs.mixers.presets import HONEST_SEEDS, LEAKING, ArmName, Preset
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.options import Longer, Mean
from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.mixers import Additive, LayerChoice, Softmax
from attnlab_theory.language.models.model import untrained
from attnlab_theory.language.runs import Run, refuse_left_over
from attnlab_theory.seeds import key_for

MIXERS: Mapping[ArmName, LayerChoice] = {
    "separate": Softmax(),
    "additive": Additive(),
    "shared-qk": Softmax(shared=True),
    "shared-qkv": OneProjection(),
    "zero-after": ZeroMask("after"),
    "zero-before": ZeroMask("before"),
}
"""What lets tokens see each other, by arm. Explicit: no discovery."""


class Stage(NamedTuple):
    """A run, and the file for its model."""

    run: Run
    path: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """Which models are trained on what, and where they are kept.

    Raises:
        ValueError: if there is no arm, or one is named twice.
    """

    preset: Preset
    arms: tuple[ArmName, ...]
    seeds: tuple[int, ...]
    material: Callable[[int], Material]
    folder: Path
    longer: Longer = "cut"
    mean: Mean = "tokens"
    asked: tuple[str, ...] = ()
    """Single sentences whose losses are told."""

    def __post_init__(self) -> None:
        if not self.arms:
            raise ValueError("a run needs at least one arm")
        for name in self.arms:
            if self.arms.count(name) > 1:
                raise ValueError(f"arm {name} is named twice; once is enough")

    def config(self, arm: ArmName, vocabulary: int) -> GPTConfig:
        """The model of an arm; all are of one size, and none has dropout."""
        sizes = {name: getattr(self.preset, name) for name in ("layers", "heads", "width", "block")}
        none = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
        return GPTConfig(vocabulary=vocabulary, mixer=MIXERS[arm], **sizes, **none)

    def seeds_of(self, arm: ArmName) -> tuple[int, ...]:
        """The seeds for which an arm is trained."""
        return self.seeds[:HONEST_SEEDS] if arm in LEAKING else self.seeds

    def arms_of(self, seed: int) -> tuple[ArmName, ...]:
        """The arms that are trained for a seed."""
        return tuple(arm for arm in self.arms if seed in self.seeds_of(arm))

    def path(self, arm: str, seed: int) -> Path:
        """The file of a model."""
        return self.folder / f"seed-{seed}" / arm

    def stages(self) -> Iterator[Stage]:
        """All that is to be trained, one after the other."""
        for seed in self.seeds:
            self.path("", seed).mkdir(parents=True, exist_ok=True)
            for arm in self.arms_of(seed):
                yield Stage(self._run(arm, seed, self.material(seed)), self.path(arm, seed))

    def _run(self, arm: ArmName, seed: int, material: Material) -> Run:
        config = self.config(arm, len(material.text))
        return next_token(
            material,
            lambda: untrained(GPT, config, key=key_for(seed, "parameters")),
            config,
            dataclasses.replace(self.preset.recipe, seed=seed),
            block=self.preset.block,
            origin={"stage": "train", "variant": arm},
            longer=self.longer,
            mean=self.mean,
            stops_early=False,
            kinds=KINDS,
        )

    def refuse_left_over(self) -> None:
        """Refuse to start anew where a stopped run has left a checkpoint.

        Raises:
            ValueError: naming the checkpoint.
        """
        for seed in self.seeds:
            for arm in self.arms_of(seed):
                refuse_left_over(self.path(arm, seed))

    def saved(self, arm: str, seed: int) -> Saved:
        """A trained model.

        Raises:
            ValueError: if it is missing.
        """
        return load_model(self.path(arm, seed), kinds=KINDS)
