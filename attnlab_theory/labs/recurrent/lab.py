"""What is trained in the recurrent lab, and on what."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from attnlab_theory.labs.engine.lab import Lab, Stage, each_named
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.recurrent.arms import FURTHEST, PARTS, Arm, Part, Preset
from attnlab_theory.labs.recurrent.letters import in_a_row
from attnlab_theory.labs.recurrent.tuning import SETTINGS, refuse_short
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.language.models.config import config_from_json
from attnlab_theory.language.models.gpt import GPT, GPTConfig, parameter_count
from attnlab_theory.language.models.model import Kind
from attnlab_theory.language.models.recurrent import Activation, Recurrent, RecurrentConfig, hidden_for
from attnlab_theory.seeds import key_for

KINDS: Mapping[str, Kind] = {
    "GPT": Kind(GPT, config_from_json),
    "Recurrent": Kind(Recurrent, RecurrentConfig.from_json),
}
"""The models of this lab's files."""

Config = GPTConfig | RecurrentConfig

WINDOWS = 2000
"""The windows of a tuning run by default."""

LOOKED_AT = 200
"""The most sentences over which gradients are averaged."""


class Read(NamedTuple):
    """How much each arm at equal numbers of parameters reads."""

    tokens: int
    """The number of tokens in all epochs together, ends of sentences included."""
    cut: int
    """How many training sentences did not fit, and lost their end."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Networks(Lab):
    """Recurrent networks and GPTs, for all parts that are measured.

    Raises:
        ValueError: if there is no arm, or one is unknown or named twice.
    """

    kinds = KINDS
    preset: Preset
    material: Callable[[int], Material]
    """The sentences of a seed, by words or by characters."""
    letters: Callable[[int], Material]
    """The same by characters."""
    # Names of arms, and of parts for all of their arms.
    arms: tuple[str, ...] = PARTS
    windows: int = WINDOWS
    """Windows that each of the tuning runs reads."""

    def __post_init__(self) -> None:
        super().__post_init__()
        each_named(self.arms, self.preset.groups)

    def arms_of(self, seed: int) -> tuple[Arm, ...]:
        """The arms of all parts: the same for every seed."""
        return tuple(arm for part in PARTS for arm in self.of(part))

    def of(self, part: Part) -> tuple[Arm, ...]:
        """The arms of a part."""
        named = each_named(self.arms, self.preset.groups)
        return tuple(arm for arm in self.preset.arms(part) if arm.name in named)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that are measured: those that are named, or have an arm that is."""
        return tuple(part for part in PARTS if part in self.arms or self.of(part))

    def stages(self, arm: Arm, seed: int) -> Iterator[Stage]:
        """The one stage of an arm, to the end of its last epoch.

        Raises:
            ValueError: if a number of the preset is out of range, or a sentence does not fit.
        """
        material = self.letters(seed) if arm.letters else self.material(seed)
        config = config_of(arm, self.preset, len(material.text))
        run = next_token(
            material,
            lambda: first(config, seed),
            config,
            dataclasses.replace(arm.recipe, seed=seed),
            block=self.preset.letters if arm.letters else self.preset.block,
            origin={"stage": "train", "variant": arm.name},
            mean="tokens",
            stops_early=False,
            kinds=KINDS,
        )
        yield Stage(run, self.path(arm, seed))

    def refuse_unmeasurable(self) -> None:
        """Refuse sentences that are too few or too short.

        Sentences of files are the same for every seed, and those of the grammar are long enough.

        Raises:
            ValueError: naming what is too short, and how long it must be. Also if a sentence has no token or does
                not fit.
        """
        seed = self.seeds[0]
        if "equal" in self.parts:
            self.far(seed)
        if {"equal", "growth"} & set(self.parts):
            self.read(seed)
            self.test_rows(seed)
        if "rates" in self.parts:
            letters = self.letters(seed)
            encoded(letters.train, letters.text, self.preset.letters, source=letters.source)
        if "tuning" in self.parts:
            refuse_short(len(in_a_row(self.letters(seed))), SETTINGS)

    def far(self, seed: int) -> list[Int[np.ndarray, " t"]]:
        """The first test sentences with more than `FURTHEST` tokens, as tokens.

        Raises:
            ValueError: if there is none.
        """
        material = self.material(seed)
        every = [material.text.encode_text(sentence) for sentence in material.test]
        long = [tokens for tokens in every if len(tokens) > FURTHEST]
        if not long:
            raise ValueError(
                f"the longest test sentence has {max(map(len, every))} tokens, and gradients at a distance of "
                f"{FURTHEST} need one of {FURTHEST + 1} or more: give longer ones, or leave out equal (--arms)"
            )
        return long[:LOOKED_AT]

    def test_rows(self, seed: int) -> Encoded:
        """The test sentences as every model of a block reads them.

        Raises:
            ValueError: if a sentence has no token or does not fit.
        """
        material = self.material(seed)
        return encoded(material.test, material.text, self.preset.block, source="the test sentences")

    def read(self, seed: int) -> Read:
        """How much each arm at equal numbers of parameters reads.

        Raises:
            ValueError: if a sentence has no token or does not fit.
        """
        material = self.material(seed)
        rows = encoded(material.train, material.text, self.preset.block, source=material.source)
        return Read(self.preset.recipe.epochs * int(rows.lengths.sum()), rows.cut)

    def untrained(self, arm: Arm, seed: int) -> Any:
        """The model of an arm before its first step."""
        return first(self.saved(arm, seed).model.config, seed)


def config_of(arm: Arm, preset: Preset, vocabulary: int) -> Config:
    """The model of an arm. Networks have f1 and f2 of the preset."""
    gpt = GPTConfig(vocabulary=vocabulary, **preset.model)
    if arm.cell == "gpt":
        return gpt
    hidden = arm.hidden or hidden_for(parameter_count(KINDS["GPT"].empty(gpt)), vocabulary, arm.cell)
    f = Activation(preset.activation)
    return RecurrentConfig(vocabulary=vocabulary, hidden=hidden, cell=arm.cell, first=f, second=f)


def first(config: Config, seed: int) -> Any:
    """The model with its first weights, by the seed."""
    key = key_for(seed, "parameters")
    return GPT(config, key=key) if isinstance(config, GPTConfig) else Recurrent(config, key=key)
