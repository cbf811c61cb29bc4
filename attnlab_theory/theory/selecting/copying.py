"""How much weight the best key gets, and what that does to the output (docs/mathematics/selecting.md)."""

import math

import numpy as np


def leak_bound(n: int, gap: float) -> float:
    """The largest weight that keys other than the best can have, if the best score leads by `gap`.

    With x = (n - 1) e^{-gap} the bound is x / (1 + x). It is reached if the others tie: by orthonormal keys and a
    query along one of them.

    Source: docs/mathematics/selecting.md.
    """
    # x may underflow, but never overflows for a gap >= 0.
    x = (n - 1) * np.exp(-gap)
    return float(x / (1 + x))


def strength_needed(n: int, leak: float) -> float:
    """The least gap at which the other keys have at most the weight `leak`: the inverse of `leak_bound`.

    It is negative if even tied scores leak less than `leak`.

    Source: docs/mathematics/selecting.md, solved for the gap.
    """
    return math.log((n - 1) * (1 - leak) / leak)
