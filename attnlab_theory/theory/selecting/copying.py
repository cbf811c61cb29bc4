"""How much weight the best key gets, and what that does to the output (docs/mathematics/selecting.md)."""

import math

import numpy as np


def leak_bound(n: int, gap: float) -> float:
    """Largest weight that can escape the best key, over all scores it leads by `gap` (dimensionless).

    Writing x = (n - 1) e^{-gap}, the bound is x / (1 + x); the others tie in the extremal case, which
    orthonormal keys and a query along one of them are.

    Source: docs/mathematics/selecting.md.
    """
    # x may underflow, but never overflows for a gap >= 0.
    x = (n - 1) * np.exp(-gap)
    return float(x / (1 + x))


def strength_needed(n: int, leak: float) -> float:
    """The least gap at which no more than `leak` can escape: the inverse of `leak_bound`.

    Negative where even tied scores leak less than asked.

    Source: docs/mathematics/selecting.md, solved for the gap.
    """
    return math.log((n - 1) * (1 - leak) / leak)
