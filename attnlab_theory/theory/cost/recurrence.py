"""A recurrent layer beside attention: operations, the longest chain, the largest array.

See docs/mathematics/cost.md.
"""

import enum
from typing import assert_never

from attnlab_theory.theory.cost.layers import FLOAT, mixing


class LayerKind(enum.StrEnum):
    """How a layer lets a token see the tokens before it."""

    PLAIN = "plain"
    """Attention, the weights of all pairs at once."""

    BLOCKED = "blocked"
    """Attention, the weights of a block of keys at a time."""

    RECURRENT = "recurrent"
    """A state that is handed on from token to token."""


def recurrent(t: int, d: int) -> int:
    """Operations of a recurrent layer with square input and recurrent matrices: 4 T d^2, in T steps."""
    return 4 * t * d**2


def products(kind: LayerKind, t: int, d: int) -> int:
    """Operations of a layer in matrix products."""
    match kind:
        case LayerKind.PLAIN | LayerKind.BLOCKED:
            return mixing(t, d)
        case LayerKind.RECURRENT:
            return recurrent(t, d)
        case _:
            assert_never(kind)


def chain(kind: LayerKind, t: int) -> int:
    """The longest chain of matrix products that wait for one another."""
    match kind:
        case LayerKind.PLAIN | LayerKind.BLOCKED:
            return 2  # the scores, and the mean of the values
        case LayerKind.RECURRENT:
            return t
        case _:
            assert_never(kind)


def largest_array(kind: LayerKind, t: int, d: int, *, heads: int = 1, block: int = 1) -> int:
    """Bytes of the largest array on the way from q, k, v (or x) to the output."""
    match kind:
        case LayerKind.PLAIN:
            return FLOAT * max(heads * t**2, t * d)  # the weights of all heads, or the output
        case LayerKind.BLOCKED:
            return FLOAT * t * max(block, d)  # one tile of whole rows, or the output
        case LayerKind.RECURRENT:
            return FLOAT * t * d  # the states of all steps
        case _:
            assert_never(kind)
