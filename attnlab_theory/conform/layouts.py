"""Where batch, heads, tokens and channels stand: from [b h t d] to a target's own order, and back."""

from collections.abc import Mapping

import numpy as np

LAYOUTS: Mapping[str, str] = {
    "bhtd": "{x}",
    "bthd": "{x}.transpose(0, 2, 1, 3)",
    "htd": "{x}[0]",
    "thd": "{x}[0].transpose(1, 0, 2)",
    "btd": "{x}[:, 0]",
    "td": "{x}[0, 0]",
}
"""How an array [b h t d] becomes one of each layout, as numpy writes it. b batch, h heads, t tokens, d channels."""


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """An array [b h t d] as a target of this layout takes it."""
    return eval(LAYOUTS[layout].format(x="x"), {"x": x})


def taken_in(x: np.ndarray, layout: str) -> np.ndarray:
    """The reverse of `laid_out`."""
    kept = [axis for axis in "bhtd" if axis in layout]
    found = x.transpose([layout.index(axis) for axis in kept])
    return found[tuple(slice(None) if axis in layout else None for axis in "bhtd")]


def has_batch(layout: str) -> bool:
    """Whether there is an axis of batch elements."""
    return "b" in layout


def has_heads(layout: str) -> bool:
    """Whether there is an axis of heads."""
    return "h" in layout


def weights_layout(layout: str) -> str:
    """The layout of weights [b h t s], and of a mask for each head: tokens stand last everywhere."""
    return {"bthd": "bhtd", "thd": "htd"}.get(layout, layout)
