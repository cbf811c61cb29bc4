"""How the homework trains, as data; nothing here imports jax, for the command line reads it first.

Source: Stanford CS224n, assignment 5 of 2021 to 2023 and assignment 4 from 2024, `run.py` and `trainer.py`.
"""

from typing import Literal

from attnlab_theory.labs.recipes import Recipe

RuleName = Literal["capitalised", "known"]
"""How the place is read off a line of the corpus: by its capital letters, or by the training file's places."""

PRETRAINING = {
    2021: Recipe(epochs=650, batch=128, rate=6e-3, fall=200),
    2024: Recipe(epochs=650, batch=128, rate=6e-3, fall=650),
}
"""The recipe of pretraining, by year.

Until 2023 the learning rate falls, rises and falls again, by accident. From 2024 it falls once.
"""

FINETUNING = Recipe(epochs=10, batch=256, rate=6e-4, fall=200)
"""The recipe of finetuning after pretraining."""

FINETUNING_FROM_SCRATCH = Recipe(epochs=75, batch=256, rate=6e-4, fall=200)
"""The recipe of finetuning without pretraining."""

STORING = Recipe(epochs=30, batch=48, rate=1e-3, fall=None, shuffled=True)
"""One question about everybody in the corpus. The homework has no such stage."""
