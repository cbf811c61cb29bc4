"""What a mask means, and its shape."""

import numpy as np

from attnlab_theory.conform.attention.layouts import LAYOUTS, laid_out, weights_layout

MEANINGS = ("bool-keep", "bool-drop", "ones-keep", "ones-drop", "additive")
"""True keeps, True drops, whole numbers of which 1 keeps or drops, or numbers are added.

In this order: `(1 - mask) * -1e9` takes 0 and minus infinity, too, and would drown the scores.
"""

WORDS = {
    "bool-keep": "True keeps",
    "bool-drop": "True drops",
    "additive": "numbers are added",
    "ones-keep": "1 keeps, 0 drops",
    "ones-drop": "1 drops, 0 keeps",
}

KEYS_MEAN = ("bool-drop", "bool-keep", "ones-keep", "ones-drop")
"""What a mask of keys, [b s], may mean."""

CODE = {
    "bool-drop": "~{x}",
    "ones-keep": "{x}.astype('int64')",
    "ones-drop": "(~{x}).astype('int64')",
    "additive": "np.where({x}, 0, -np.inf).astype('{kind}')",
}
"""How numpy writes a mask x, True keeps, in the words of a target. x itself where a meaning is not named."""

SHAPES = ("ts", "b1ts", "bts")
"""Shapes of a mask that all batch elements and heads share."""


def shaped(mask: np.ndarray, shape: str, layout: str, batch: int) -> np.ndarray:
    """A mask [t s], [b 1 t s] or [b h t s] with the axes that a target takes.

    Args:
        mask: True keeps.
        shape: one of `SHAPES`.
        layout: of the target.
        batch: how many elements.
    """
    if mask.ndim == 2 and shape != "ts":
        mask = np.repeat(mask[None, None], batch, axis=0)
    if mask.ndim != 4:
        return mask
    return mask[:, 0] if shape == "bts" else laid_out(mask, weights_layout(layout))


def said(mask: np.ndarray, meaning: str, kind: np.dtype) -> np.ndarray:
    """A mask, True keeps, in the words of a target.

    Args:
        mask: in any shape.
        meaning: one of `MEANINGS`; else True keeps.
        kind: of the numbers that are added.
    """
    match meaning:
        case "bool-drop":
            return ~mask
        case "additive":
            return np.where(mask, 0.0, -np.inf).astype(kind)
        case "ones-keep":
            return mask.astype(np.int64)
        case "ones-drop":
            return (~mask).astype(np.int64)
    return mask


def spelt(shape: str, layout: str, batch: int, *, whole: bool) -> str:
    """The axes of `shaped`, as numpy writes them of `mask`.

    Args:
        shape: one of `SHAPES`.
        layout: of the target.
        batch: how many elements.
        whole: whether the mask is [b 1 t s] or [b h t s], and not [t s].
    """
    code = "mask"
    if not whole and shape != "ts":
        code = f"np.repeat(mask[None, None], {batch}, 0)"
    if not whole and shape == "ts":
        return code
    return f"{code}[:, 0]" if shape == "bts" else LAYOUTS[weights_layout(layout)].format(x=code)
