"""What layers cost, by algebra: operations and bytes of their matrix products (docs/mathematics/cost.md).

A multiplication and an addition count two. T is the length in tokens and d the width of the model. A layer is four
projections (queries, keys, values, output), the mixing of tokens (scores, and the weighted mean of the values) and
an MLP of inner width 4d. Heads divide the width and change no count.
"""

import enum
from typing import assert_never

FLOAT = 4
"""Bytes of a number."""


class Part(enum.StrEnum):
    """One of the three parts of a layer, or the whole layer."""

    PROJECTIONS = "projections"
    MIXING = "mixing"
    MLP = "mlp"
    LAYER = "layer"


class Rival(enum.StrEnum):
    """What the mixing of a layer is compared with."""

    PROJECTIONS = "projections"
    MLP = "mlp"
    ALL_ELSE = "all else"
    """The projections and the MLP together."""

    MODULE = "module"
    """The MLP alone. The projections then count with the mixing."""


def projections(t: int, d: int) -> int:
    """Operations of the four d by d projections of T tokens: 8 T d^2."""
    return 8 * t * d**2


def mixing(t: int, d: int, *, sources: int | None = None) -> int:
    """Operations of scores and of weighted means: 4 T^2 d, or 4 T S d with S sources."""
    return 4 * t * (t if sources is None else sources) * d


def mlp(t: int, d: int) -> int:
    """Operations of an MLP of inner width 4d: 16 T d^2."""
    return 16 * t * d**2


def layer(t: int, d: int) -> int:
    """Operations of one pass through one layer: 24 T d^2 + 4 T^2 d."""
    return projections(t, d) + mixing(t, d) + mlp(t, d)


def products(part: Part, t: int, d: int) -> int:
    """Operations of one part of a layer."""
    match part:
        case Part.PROJECTIONS:
            return projections(t, d)
        case Part.MIXING:
            return mixing(t, d)
        case Part.MLP:
            return mlp(t, d)
        case Part.LAYER:
            return layer(t, d)
        case _:
            assert_never(part)


def widths_until(rival: Rival) -> int:
    """The length at which mixing costs as much as a rival, in widths."""
    match rival:
        case Rival.PROJECTIONS:
            return 2  # 4 T^2 d = 8 T d^2
        case Rival.MLP:
            return 4  # 4 T^2 d = 16 T d^2
        case Rival.ALL_ELSE:
            return 6  # 4 T^2 d = 24 T d^2
        case Rival.MODULE:
            return 2  # 4 T^2 d + 8 T d^2 = 16 T d^2
        case _:
            assert_never(rival)


def crossing(d: int, rival: Rival, *, cached: bool = False) -> int:
    """The first length at which mixing costs as much as a rival, in tokens.

    Args:
        d: width.
        rival: what mixing is compared with.
        cached: whether T tokens are generated with a cache. The sum 2 T (T + 1) d then takes the place of 4 T^2 d:
            the same equations with (T + 1) / 2 for T.

    Source: docs/mathematics/cost.md.
    """
    lengths = widths_until(rival) * d
    return 2 * lengths - 1 if cached else lengths


def readout(t: int, d: int, vocabulary: int) -> int:
    """Operations of T rows of logits: 2 T d V."""
    return 2 * t * d * vocabulary


def generation(t: int, d: int, *, layers: int = 1, batch: int = 1, vocabulary: int = 0) -> int:
    """Operations of generating T tokens with a cache that grows: B (layers (2 T (T + 1) d + 24 T d^2) + 2 T d V).

    Token i mixes i sources, which costs 4 i d. The sum over i is 2 T (T + 1) d.

    Source: docs/mathematics/cost.md.
    """
    per_layer = 2 * t * (t + 1) * d + projections(t, d) + mlp(t, d)
    return batch * (layers * per_layer + readout(t, d, vocabulary))


def generation_padded(t: int, d: int, capacity: int) -> int:
    """The same for one layer, with a cache of fixed capacity: every step mixes all of it, 4 capacity d."""
    return t * 4 * capacity * d + projections(t, d) + mlp(t, d)


def generation_uncached(t: int, d: int) -> int:
    """The same for one layer, with a full pass for every token: sums of 24 i d^2 and of 4 i^2 d over i."""
    return 12 * t * (t + 1) * d**2 + 2 * t * (t + 1) * (2 * t + 1) * d // 3
