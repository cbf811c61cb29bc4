"""How much weight the best key gets (claims B.1)."""

import numpy as np


def leak_bound(n: int, gap: float) -> float:
    """Largest weight that can escape the best key, over all scores it leads by `gap` (dimensionless).

    Writing x = (n - 1) e^{-gap}, the bound is x / (1 + x); the others tie in the extremal case.

    Source: claims B.1.
    """
    x = (n - 1) * np.exp(-gap)
    return float(x / (1 + x))
