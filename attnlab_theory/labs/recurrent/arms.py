"""The models: an RNN and a W-RNN of as many parameters as a small GPT."""

from collections.abc import Mapping
from typing import Any

import jax

from attnlab_theory.labs.recurrent.presets import ArmName, Preset
from attnlab_theory.language.models.config import config_from_json
from attnlab_theory.language.models.gpt import GPT, GPTConfig, parameter_count
from attnlab_theory.language.models.model import Kind
from attnlab_theory.language.models.recurrent import Activation, Cell, Recurrent, RecurrentConfig, hidden_for

KINDS: Mapping[str, Kind] = {
    "GPT": Kind(GPT, config_from_json),
    "Recurrent": Kind(Recurrent, RecurrentConfig.from_json),
}
"""The models of this lab's files."""

Config = GPTConfig | RecurrentConfig


def config_of(arm: ArmName, preset: Preset, vocabulary: int) -> Config:
    """The model of an arm: all have as many parameters as the GPT, as nearly as whole hidden units allow."""
    sizes = {name: getattr(preset, name) for name in ("layers", "heads", "width", "block")}
    none = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), 0.0)
    gpt = GPTConfig(vocabulary=vocabulary, **sizes, **none)
    if arm == "gpt":
        return gpt
    wanted = parameter_count(Kind(GPT, config_from_json).empty(gpt))
    return recurrent(arm, hidden_for(wanted, vocabulary, arm), preset, vocabulary)


def recurrent(cell: Cell, hidden: int, preset: Preset, vocabulary: int) -> RecurrentConfig:
    """A recurrent network of this hidden size, with the activation of the preset for f1 and f2."""
    f = Activation(preset.activation)
    return RecurrentConfig(vocabulary=vocabulary, hidden=hidden, cell=cell, first=f, second=f)


def first(config: Config, key: jax.Array) -> Any:
    """The model with its first weights."""
    return GPT(config, key=key) if isinstance(config, GPTConfig) else Recurrent(config, key=key)
