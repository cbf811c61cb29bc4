"""What a mask means, and its shape."""

import numpy as np

from attnlab_theory.conform.operands import OPERANDS

MEANINGS = (*OPERANDS["pair mask"].meanings,)
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

SHAPES = ("ts", "b1ts", "bts")
"""Shapes of a mask that all batch elements and heads share."""


def said(mask: np.ndarray, meaning: str, kind: np.dtype) -> np.ndarray:
    """A mask, True keeps, in the words of a target.

    Args:
        mask: in any shape.
        meaning: one of `MEANINGS`; else True keeps.
        kind: of the numbers that are added.
    """
    code = OPERANDS["pair mask"].meanings.get(meaning, "{x}")
    return eval(code.format(x="mask", kind=kind), {"mask": mask, "np": np})
