"""Choices that the command line offers; nothing here imports jax, for it is read first."""

from typing import Literal

OptimizerName = Literal["adamw", "sgd", "rmsprop"]
"""From gradients to steps."""

OrderName = Literal["shuffled", "alike", "file", "by-label"]
"""The order of the reviews: another in every epoch; the same, but with batches of similar length; that of the file;
all unfavourable ones first."""

SHUFFLED: tuple[OrderName, ...] = ("shuffled", "alike")
"""Orders that are another in every epoch."""

PresetName = Literal["tiny", "minilm"]
"""Model and recipe."""
