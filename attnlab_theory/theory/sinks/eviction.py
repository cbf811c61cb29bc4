"""How far the output moves when a key is dropped (docs/mathematics/sinks.md)."""

import math


def weight(n: int, score: float) -> float:
    """The weight of one key of this score among n - 1 others of score 0."""
    return 1 / (1 + (n - 1) * math.exp(-score))


def movement(w: float) -> float:
    """How far the output moves when a key of weight w goes, as a multiple of its distance from the key's value.

    Source: docs/mathematics/sinks.md#a-token-that-is-dropped-counts-by-its-odds.
    """
    return w / (1 - w)
