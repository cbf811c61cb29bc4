"""What is trained in the mixer lab, and on what."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from attnlab_theory.labs.engine.lab import Lab, Stage
from attnlab_theory.labs.mixers.arms import HONEST_SEEDS, LEAKING, ArmName, Preset
from attnlab_theory.labs.mixers.leaky import KINDS, OneProjection, ZeroMask
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.mixers import Additive, LayerChoice, Softmax
from attnlab_theory.language.models.model import untrained
from attnlab_theory.seeds import key_for

MIXERS: Mapping[ArmName, LayerChoice] = {
    "separate": Softmax(),
    "additive": Additive(),
    "shared-qk": Softmax(shared=True),
    "shared-qkv": OneProjection(),
    "zero-after": ZeroMask("after"),
    "zero-before": ZeroMask("before"),
}
"""The mixer of each arm."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixers(Lab):
    """Models that differ in their mixer alone."""

    kinds = KINDS
    preset: Preset
    material: Callable[[int], Material]
    """The sentences of a seed."""
    own_sentences: tuple[str, ...] = ()
    """Sentences of which each gets a loss of its own in the record."""

    def config(self, arm: ArmName, vocabulary: int) -> GPTConfig:
        """The model of an arm; all are of one size, and none has dropout."""
        return GPTConfig(vocabulary=vocabulary, mixer=MIXERS[arm], **self.preset.model)

    def seeds_of(self, arm: ArmName) -> tuple[int, ...]:
        """The seeds for which an arm is trained."""
        return self.seeds[:HONEST_SEEDS] if arm in LEAKING else self.seeds

    def arms_of(self, seed: int) -> tuple[ArmName, ...]:
        """The arms that are trained for a seed."""
        return tuple(arm for arm in self.arms if seed in self.seeds_of(arm))

    def stages(self, arm: ArmName, seed: int) -> Iterator[Stage]:
        """The one stage of an arm.

        Raises:
            ValueError: if a number of the preset is out of range, or a sentence does not fit.
        """
        material = self.material(seed)
        config = self.config(arm, len(material.text))
        run = next_token(
            material,
            lambda: untrained(GPT, config, key=key_for(seed, "parameters")),
            config,
            dataclasses.replace(self.preset.recipe, seed=seed),
            block=self.preset.block,
            origin={"stage": "train", "variant": arm},
            mean="tokens",
            stops_early=False,
            kinds=KINDS,
        )
        yield Stage(run, self.path(arm, seed))
