"""Inputs of normal numbers, and what is put in their place to find leaks."""

from collections.abc import Callable, Mapping

import numpy as np

WIDTHS = (8, 16, 32, 64, 4, 128, 256, 512, 768, 12, 24, 48, 2, 1)
"""Widths that are tried, for a target may have a width of its own."""

LOUD: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "4 * x": lambda x: 4 * x,
    "-4 * x": lambda x: -4 * x,
    "x + 1e3": lambda x: x + x.dtype.type(1e3),
}
"""What the future is replaced by."""


def numbers(batch: int, tokens: int, width: int, kind: str, seed: int = 0) -> np.ndarray:
    """Normal numbers [b t d]; bfloat16 in float32 that hold its numbers."""
    x = np.random.default_rng(seed).standard_normal((batch, tokens, width))
    if kind == "bfloat16":
        return (x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return x.astype(kind)
