"""Choices that the command line offers; nothing here imports jax, for it is read first."""

from typing import Literal

ArmName = Literal["scratch", "shuffled", "pretrained", "heads-1", "heads-6", "heads-8", "permuted", "dropped-heads"]
"""The models that are compared."""

DecodingName = Literal[
    "random",
    "random-t0.7",
    "top_p0.9",
    "top_p0.9-t0.7",
    "random-t0.5",
    "random-t0.85",
    "random-t1.2",
    "top_p0.5",
    "top_p0.7",
    "top_p0.95",
    "top_k5",
    "top_k40",
    "min_p0.05",
]
"""The ways to choose the next token that are compared; t is the temperature."""

HOMEWORK: tuple[DecodingName, ...] = ("random", "random-t0.7", "top_p0.9", "top_p0.9-t0.7")
"""The homework's four: two temperatures, with and without a cut."""
