"""Recalling a bit from a place that only content gives: the best accuracy of weights that cannot see content."""

import math


def blind_accuracy(n: int) -> float:
    """The largest chance that a weighted sum of n fair signs has the sign of one of them, drawn at random.

    Equal weights on an odd number reach it. The majority agrees with a given voter if the others tie, and with
    chance one half if they do not. No weighting does better: the chance is 1/2 plus half the mean influence of a
    voter, and no threshold function has more total influence than the majority.

    Source: O'Donnell 2014, "Analysis of Boolean functions", theorem 2.33 (majority maximises total influence).

    Raises:
        ValueError: if n is even, where a majority may tie.
    """
    if not (n > 0 and n % 2):
        raise ValueError(f"a majority needs an odd number of voters, not {n}")
    return 0.5 + math.comb(n - 1, (n - 1) // 2) / 2**n


def accuracy_of_a_drawn_key(n: int, strength: float) -> float:
    """The chance of the right sign if one of n keys is read, drawn by attention's weights at this strength.

    The key that is asked for has the weight e^strength / (e^strength + n - 1). Any other has the right sign half of
    the time.

    Source: docs/mathematics/sparse.md#recalling-a-sign.
    """
    return (1 + 1 / (1 + (n - 1) * math.exp(-strength))) / 2


def single_accuracy(n: int) -> float:
    """The same if all weight lies on one place. It is right if that is the place, and else half of the time."""
    return 0.5 + 0.5 / n
