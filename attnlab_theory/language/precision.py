"""In what numbers a model computes; nothing here imports jax, for the command line reads it first."""

from typing import Literal

Precision = Literal["float32", "bfloat16"]
"""Of activations and products; parameters, moments and the loss are always kept in float32."""
