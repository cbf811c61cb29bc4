"""How many keys share the weight over random scores (docs/mathematics/sharpness.md)."""

import math

from attnlab_theory.theory import independent_scores


def participation(n: int, spread: float) -> float:
    """E sum alpha_i^2 over n independent scores N(0, spread^2).

    Source: docs/mathematics/sharpness.md#how-many-keys-share-the-weight.
    """
    return independent_scores.participation(independent_scores.normal(spread), n)


def log_normal_participation(n: int, spread: float) -> float:
    """e^(spread^2) / n, cut at one: all sums replaced by their means."""
    return min(1.0, math.exp(spread**2) / n)


def entropy(n: int, spread: float) -> float:
    """The mean entropy of the weights, in nats: E ln S - spread^2 (1 - E sum alpha_i^2).

    Source: docs/mathematics/sharpness.md#the-entropy-of-random-scores.
    """
    return independent_scores.log_normalizer(independent_scores.normal(spread), n) - spread**2 * (
        1 - participation(n, spread)
    )


def log_normal_entropy(n: int, spread: float) -> float:
    """ln n - spread^2 / 2, where every sum is its mean."""
    return math.log(n) - spread**2 / 2
