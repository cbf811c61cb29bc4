"""How far back a stack of sliding windows listens: powers of one convolution."""

import numpy as np


def influence(window: int, layers: int, skip: float) -> np.ndarray:
    """The influence of the token at distance 0, 1, ... on a token, after some layers: skip x + (1 - skip) mean.

    Each layer is a convolution with the mean over a window, which has the token itself in it. So the distance is a
    sum of one uniform number below `window` for each layer that is not skipped.

    Source: docs/mathematics/selection.md#how-far-stacked-windows-hear.
    """
    layer = np.full(window, (1 - skip) / window)
    layer[0] += skip
    found = np.ones(1)
    for _ in range(layers):
        found = np.convolve(found, layer)
    return found


def heard_from(window: int, layers: int, skip: float, distance: int) -> float:
    """The share of the influence that comes from `distance` tokens back or further."""
    return float(np.sum(influence(window, layers, skip)[distance:]))


def heard_by_decay(window: int, skip: float, distance: float) -> float:
    """(1 - skip)^(distance / window): what would be left if each window cost one branch, whatever the depth."""
    return (1 - skip) ** (distance / window)


def reach(window: int, layers: int) -> int:
    """The furthest distance that is heard: each layer adds window - 1, for the token itself is in its window.

    Source: docs/mathematics/selection.md#how-far-stacked-windows-hear.
    """
    return layers * (window - 1)
