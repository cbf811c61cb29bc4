"""How far a difference leads out of the hull of the values (docs/mathematics/sharpness.md)."""

import math


def furthest(lam: float) -> float:
    """The distance of v_i - lam v_j from the hull of orthonormal values.

    Source: docs/mathematics/sharpness.md#a-difference-leaves-the-hull.
    """
    return lam


def distance_of_the_plane(n: int, lam: float) -> float:
    """How far weights that sum to 1 - lam are from the plane of those that sum to one, at least."""
    return lam / math.sqrt(n)
