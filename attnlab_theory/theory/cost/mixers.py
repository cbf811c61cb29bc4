"""What further mixers cost: blocks, windows, additive scores, synthesizers (docs/mathematics/cost.md)."""

import enum
from typing import assert_never

from attnlab_theory.theory.cost.layers import mixing


class Synthesizer(enum.StrEnum):
    """Where a synthesizer's logits come from."""

    RANDOM = "random"
    """A table of one logit for each pair of places."""

    FACTORISED = "factorised"
    """The product of two tables of rank m."""

    DENSE = "dense"
    """A network with m hidden units."""


def blocked_causal_mixing(t: int, d: int, block: int) -> int:
    """Operations of causal attention by blocks of queries that meet keys up to their own end: 2 T (T + block) d.

    Block i of n meets i blocks of keys: n (n + 1) / 2 tiles in all. Without blocks, half of what is computed is
    hidden.
    """
    return 2 * t * (t + block) * d


def sliding_mixing(t: int, d: int, *, window: int, least_block: int) -> int:
    """Operations of a sliding window. Each block of queries meets as many keys, and window - 1 more."""
    size = min(t, max(least_block, window - 1))
    return mixing(-(-t // size) * size, d, sources=size + window - 1)


def additive_mixing(t: int, d: int, m: int) -> int:
    """Operations in matrix products of additive attention with m hidden units: 4 T d m to them, 2 T^2 d to mix.

    The T^2 m hidden units themselves are elementwise.
    """
    return 4 * t * d * m + mixing(t, d) // 2


def synthesizer_logits(t: int, d: int, m: int, kind: Synthesizer) -> int:
    """Operations of all T^2 logits."""
    match kind:
        case Synthesizer.RANDOM:
            return 0
        case Synthesizer.FACTORISED:
            return 2 * t**2 * m
        case Synthesizer.DENSE:
            return 2 * t * d * m + 2 * t**2 * m
        case _:
            assert_never(kind)


def synthesizer_mixing(t: int, d: int, m: int, kind: Synthesizer) -> int:
    """Operations of a synthesizer: 2 T^2 d to mix, and its logits."""
    return mixing(t, d) // 2 + synthesizer_logits(t, d, m, kind)
