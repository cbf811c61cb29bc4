"""Choices that the command line offers; nothing here imports jax, for it is read first."""

from typing import Literal

OptimizerName = Literal["adamw", "sgd", "rmsprop"]
"""From gradients to steps."""

OrderName = Literal["shuffled", "file", "by-label"]
"""The order of the reviews: another in every epoch, that of the file, or all unfavourable ones first."""

PresetName = Literal["tiny", "minilm"]
"""Model and recipe."""
