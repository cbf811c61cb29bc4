"""How the homework trains, as data; nothing here imports jax, for the command line reads it first.

Source: Stanford CS224n, assignment 5 of 2021 to 2023 and assignment 4 from 2024, `run.py` and `trainer.py`.
"""

import dataclasses
from typing import Literal

Precision = Literal["float32", "bfloat16"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """One stage of training: documents in the order of the file, no shuffling, AdamW as in `train.Optimizer`."""

    epochs: int
    batch: int
    """Documents behind one step."""
    rate: float
    """The highest learning rate."""
    fall: int | None = 200
    """The cosine is lowest after so many passes over the *pretraining* corpus, in finetuning too, and rises again
    behind; None: a plain cosine over the steps of the run, after a warm-up of a hundredth."""
    seed: int = 0
    """First weights, corruption and dropout follow from it."""
    precision: Precision = "float32"
    rows: int | None = None
    """Of a micro-batch; None: 8 on a processor, whose caches hold them, and the whole batch elsewhere."""


PRETRAINING = {
    2021: Recipe(epochs=650, batch=128, rate=6e-3, fall=200),
    2024: Recipe(epochs=650, batch=128, rate=6e-3, fall=650),
}
"""By year: until 2023 the rate falls, rises and falls again, an accident; from 2024 it falls once."""

FINETUNING = Recipe(epochs=10, batch=256, rate=6e-4)
"""Behind pretraining."""

FINETUNING_FROM_SCRATCH = Recipe(epochs=75, batch=256, rate=6e-4)
"""Without pretraining."""
