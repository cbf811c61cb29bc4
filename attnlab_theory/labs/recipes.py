"""How large a model of a lab is, and how one stage is trained, as data.

Nothing here imports jax, for the command line reads it first.
"""

import dataclasses
from typing import Any, Literal

from attnlab_theory.language.precision import Precision

MicroBatches = Literal["sorted", "packed"]
"""How a batch is cut: documents of similar length together, or several in a row. The gradient is the same."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """How large a model is."""

    layers: int
    heads: int
    width: int
    block: int
    """Places in the longest row."""
    dropout: float = 0.0

    @property
    def model(self) -> dict[str, Any]:
        """The sizes and rates by the names of `GPTConfig`."""
        rates = {f"{where}_dropout": self.dropout for where in ("embedding", "residual", "attention")}
        return {name: getattr(self, name) for name in ("layers", "heads", "width", "block")} | rates


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """One stage of training, with one of `language.optimizers`."""

    epochs: int
    """Passes over the data; the largest number of them if training stops early."""
    batch: int
    """Documents for one step. If rows are packed: rows."""
    rate: float
    """The highest learning rate."""
    fall: int | None = None
    """How the learning rate falls.

    None: along a cosine over the steps of the run, after a warm-up of a hundredth of them. A number: along the
    homework's cosine. It is lowest after this many passes over the pretraining corpus, and then rises again.
    """
    seed: int = 0
    """The seed of first weights, corruption and dropout."""
    precision: Precision = "float32"
    shuffled: bool = False
    """Whether every epoch has an order of its own. Otherwise it is the order of the file."""
    rows: int | None = None
    """Rows of a micro-batch. None: as many as suit the device."""
    micro_batches: MicroBatches = "sorted"
    """How the documents of a batch are cut. Packed ones take less time, and dropout draws other numbers."""
    packed: bool = False
    """Whether a row of the length of the block holds several documents. Then short ones waste fewer places.

    Such a batch is not cut into micro-batches.
    """
