"""How the homework trains, as data; nothing here imports jax, for the command line reads it first.

Source: Stanford CS224n, assignment 5 of 2021 to 2023 and assignment 4 from 2024, `run.py` and `trainer.py`.
"""

import dataclasses
from typing import Literal

from attnlab_theory.language.precision import Precision

RuleName = Literal["capitalised", "known"]
"""How an answer is read off a line: by its capital letters, or by the training file's answers."""

MicroBatches = Literal["sorted", "packed"]
"""How a batch is cut: documents of similar length side by side, or several in a row. The gradient is the same."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """One stage of training with AdamW as in `train.Optimizer`; the homework keeps the order of the file."""

    epochs: int
    batch: int
    """Documents behind one step; if they are packed, rows."""
    rate: float
    """The highest learning rate."""
    fall: int | None = 200
    """The cosine is lowest after so many passes over the *pretraining* corpus, in finetuning too, and rises again
    behind; None: a plain cosine over the steps of the run, after a warm-up of a hundredth."""
    seed: int = 0
    """First weights, corruption and dropout follow from it."""
    precision: Precision = "float32"
    shuffled: bool = False
    """Whether every epoch has an order of its own."""
    rows: int | None = None
    """Of a micro-batch; None: on a processor, whose caches hold them, 4 in pretraining and else 8, on other devices
    the whole batch or, where micro-batches are packed, a quarter of it."""
    micro_batches: MicroBatches = "sorted"
    """How the documents of a batch are laid; packed, a step takes less time, and dropout hits other numbers."""
    packed: bool = False
    """Whether rows, as long as the block, hold several documents each: fewer places for short ones. Then a batch
    is not cut into micro-batches."""


PRETRAINING = {
    2021: Recipe(epochs=650, batch=128, rate=6e-3, fall=200),
    2024: Recipe(epochs=650, batch=128, rate=6e-3, fall=650),
}
"""By year: until 2023 the rate falls, rises and falls again, an accident; from 2024 it falls once."""

FINETUNING = Recipe(epochs=10, batch=256, rate=6e-4)
"""Behind pretraining."""

FINETUNING_FROM_SCRATCH = Recipe(epochs=75, batch=256, rate=6e-4)
"""Without pretraining."""

STORING = Recipe(epochs=30, batch=48, rate=1e-3, fall=None, shuffled=True)
"""Everybody's question at once, which is no stage of the homework."""
