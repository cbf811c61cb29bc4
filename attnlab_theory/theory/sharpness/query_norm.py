"""Queries and keys of the length sqrt(d): how much a query gives to its own key (docs/mathematics/sharpness.md)."""

import math

from attnlab_theory.theory import independent_scores


def own_weight(n: int, d: int) -> float:
    """The mean weight of the query's own key among n random ones, at the scale 1/sqrt(d).

    Source: docs/mathematics/sharpness.md#a-normed-query-finds-itself.
    """
    strength = math.sqrt(d)
    return independent_scores.share(independent_scores.of_cosines(d, strength), n - 1, strength)


def own_weight_beside_zeros(n: int, d: int) -> float:
    """The same if all other keys have the cosine 0."""
    return 1 / (1 + (n - 1) * math.exp(-math.sqrt(d)))
