"""How fast tokens mix over layers beside a sink of share w (docs/mathematics/sinks.md).

A layer x + attention with equal scores among n tokens is I + (1 - w) 11^T / n. Its L-th power is I + ((2 - w)^L -
1) 11^T / n, because 11^T / n is a projection.
"""

import math


def part_of_another(n: int, w: float, layers: int) -> float:
    """What another token contributes to a token after so many layers: ((2 - w)^L - 1) / n.

    Source: docs/mathematics/sinks.md#a-sink-slows-mixing.
    """
    return ((2 - w) ** layers - 1) / n


def own_share(n: int, w: float, layers: int) -> float:
    """The share of a token's own contribution in the sum of all: 1/n + (1 - 1/n) (2 - w)^-L."""
    return 1 / n + (1 - 1 / n) * (2 - w) ** -layers


def first_order(n: int, w: float, layers: int) -> float:
    """Another token's part if the sink only scaled the whole: (1 - w) (2^L - 1) / n, exact at w = 0."""
    return (1 - w) * (2**layers - 1) / n


def share_that_keeps_half(n: int, layers: int) -> float:
    """The least w at which half of a token is its own after so many layers, n > 2 tokens."""
    return 2 - (2 * (n - 1) / (n - 2)) ** (1 / layers)


def sink_of_share(n: int, w: float) -> float:
    """The score of a sink that takes the share w beside n scores of 0: ln(n w / (1 - w))."""
    return math.log(n * w / (1 - w))
