"""The precision in which a model computes. Nothing here imports jax, because the command line reads it first."""

from typing import Literal

Precision = Literal["float32", "bfloat16"]
"""The precision of activations and products. Parameters, moments and the loss always stay in float32."""
