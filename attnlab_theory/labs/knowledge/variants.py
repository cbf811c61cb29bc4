"""The models that the knowledge lab compares, by their names. Each has a mixer and a position scheme."""

import difflib
from typing import Any, NamedTuple

from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.language.models.mixers import (
    Additive,
    DenseSynthesizer,
    Features,
    LayerChoice,
    RandomSynthesizer,
    Softmax,
)
from attnlab_theory.language.models.positions import Alibi, Learned, NoPositions, Rotary, Sinusoidal


class Variant(NamedTuple):
    """A mixer and a position scheme."""

    mixer: LayerChoice
    positions: NoPositions


VARIANTS = {
    "vanilla": Variant(Softmax(), Learned()),
    "rope": Variant(Softmax(), Rotary()),
    "sinusoidal": Variant(Softmax(), Sinusoidal()),
    "nope": Variant(Softmax(), NoPositions()),
    "alibi": Variant(Softmax(), Alibi()),
    "synthesizer": Variant(DenseSynthesizer(), Learned()),
    "random-synthesizer": Variant(RandomSynthesizer(), Learned()),
    "additive": Variant(Additive(), Learned()),
    "shared": Variant(Softmax(shared=True), Learned()),
    "features": Variant(Features(), Learned()),
}


ABSENT = {"perceiver": "the model of the homework of 2022 and 2023"}
"""Models of other years' homework that this lab does not have."""


def variant(name: str) -> Variant:
    """The variant of a name.

    Raises:
        ValueError: if there is none. The message has the nearest name and all others.
    """
    if name in ABSENT:
        raise ValueError(f"the {name} is {ABSENT[name]}, which is not here; there are {', '.join(VARIANTS)}")
    if name not in VARIANTS:
        near = difflib.get_close_matches(name, VARIANTS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise ValueError(f"no variant is called {name!r}; {hint} {', '.join(VARIANTS)}")
    return VARIANTS[name]


def configured(name: str, *, dropout: float = 0.1, **sizes: Any) -> GPTConfig:
    """The configuration of the homework's model in this variant.

    Args:
        name: of the variant.
        dropout: the rate of all dropouts. That of weights applies only if the mixer has weights.
        sizes: other fields of `GPTConfig`.

    Raises:
        ValueError: if there is no such variant, or a field is out of range.
    """
    mixer, positions = variant(name)
    rates = {"embedding_dropout": dropout, "residual_dropout": dropout}
    return GPTConfig(
        mixer=mixer,
        positions=positions,
        attention_dropout=dropout if mixer.scored else 0.0,
        **rates,
        **sizes,
    )


def name_of(config: GPTConfig) -> str:
    """The name of such a model on the command line, or a description if it has none."""
    for name, known in VARIANTS.items():
        if known == (config.mixer, config.positions):
            return name
    return f"{config.mixer.name} with {config.positions.name}"
