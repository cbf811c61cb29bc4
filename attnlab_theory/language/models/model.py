"""What training, checkpoints and runs need from a model."""

import dataclasses
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.models.config import config_from_json
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.text.vocabulary import VOCABULARIES, Vocabulary

M = TypeVar("M")


@runtime_checkable
class Config(Protocol):
    """The configuration of a model: a frozen dataclass."""

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, strings and dictionaries."""
        ...


@runtime_checkable
class Examples(Protocol):
    """A batch: a pytree of arrays whose first axis is the row. Rows of zeros have no target."""

    @property
    def targets(self) -> int:
        """How many predictions count in the loss."""
        ...

    @property
    def weight(self) -> float:
        """The divisor of the summed loss, as a rule the number of targets."""
        ...

    @property
    def documents(self) -> int:
        """How many documents it holds."""
        ...

    @property
    def places(self) -> int:
        """How many tokens it has room for."""
        ...


@runtime_checkable
class Model(Protocol):
    """A pytree of parameters with a loss. It says which parameters weight decay shrinks."""

    config: Any

    def summed_loss(self, batch: Any, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """The sum of the losses of all targets of a batch, in nats. The sums of micro-batches add up.

        Args:
            batch: some `Examples` that this model reads.
            key: for dropout. None means no dropout.
        """
        ...

    def decayed(self) -> PyTree[bool]:
        """For every parameter whether weight decay shrinks it."""
        ...


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a kind of model and its vocabulary are built from a checkpoint."""

    model: type
    config: Callable[[Mapping[str, Any]], Any]
    """Makes a configuration from the JSON of `Config.as_json`. ValueError if it describes none."""
    vocabularies: Mapping[str, Callable[[Mapping[str, Any]], Vocabulary]] = dataclasses.field(
        default_factory=lambda: VOCABULARIES
    )
    """The vocabularies that such a model may have, by kind."""

    def empty(self, config: Config) -> Any:
        """The model's shapes, without numbers."""
        return eqx.filter_eval_shape(lambda key: self.model(config, key=key), jax.random.key(0))


KINDS: dict[str, Kind] = {
    "GPT": Kind(GPT, config_from_json),
    "Classifier": Kind(Classifier, ClassifierConfig.from_json),
}
"""All kinds of models, by their names in checkpoints."""


def untrained(model: Callable[..., M], config: Config, *, key: PRNGKeyArray) -> M:
    """A model with first weights, drawn by one program. Dozens of small programs would take half a second to load.

    Raises:
        ValueError: if the model cannot be trained in the memory of this machine.
    """
    refuse_too_large(config)
    return eqx.filter_jit(model)(config, key=key)


COPIES = 4
"""Bytes for every parameter in training: itself, its gradient, and Adam's two moments, four bytes each."""


def refuse_too_large(config: Config) -> None:
    """Refuse a model that cannot be trained in the memory of this machine. Call it before the model is made.

    Raises:
        ValueError: naming how much it takes, and how much there is.
    """
    layered = getattr(config, "encoder", config)
    layers, width = (getattr(layered, name, 0) for name in ("layers", "width"))
    # At the least: queries, keys, values and outputs; not every model has a feed-forward network.
    needed = 4 * COPIES * (4 * layers * width**2 + config.vocabulary * width)
    if needed > memory():
        raise ValueError(
            f"a model of {layers:,} layers of width {width:,} takes at least {needed / 1e9:,.0f} GB to train, and "
            f"this machine has {memory() / 1e9:,.0f} GB: ask for fewer layers or a smaller width"
        )


def memory() -> float:
    """Bytes of this machine's memory. Infinite if the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def kind_name(model: Model, kinds: Mapping[str, Kind]) -> str:
    """The name of a model's kind.

    Raises:
        ValueError: if the model is of none of them.
    """
    for name, kind in kinds.items():
        if type(model) is kind.model:
            return name
    raise ValueError(f"{type(model).__name__} is not a known kind of model; known are {', '.join(kinds)}")
