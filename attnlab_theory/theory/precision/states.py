"""A state that is stored in few digits after every step (docs/mathematics/precision.md)."""

import math


def is_stuck(halvings: int, digits: int = 8) -> bool:
    """Whether a decay of 1 - 2^-halvings changes no number of so many binary digits: halvings > digits.

    Source: docs/mathematics/precision.md#a-state-of-few-digits-never-forgets.
    """
    return halvings > digits


def left(halvings: int, steps: int) -> float:
    """What exact arithmetic leaves: (1 - 2^-halvings)^steps."""
    return (1 - 2.0**-halvings) ** steps


def settled(digits: int) -> float:
    """Where a state stops to which 1 is added at each step, stored in so many digits: 2^digits.

    A decay of 1 - 2^-h with h > digits changes nothing of it.

    Source: docs/mathematics/precision.md#a-state-of-few-digits-never-forgets.
    """
    return 2.0**digits


def written(halvings: int, steps: int) -> float:
    """What exact arithmetic has after as many steps: (1 - gamma^t) / (1 - gamma), gamma = 1 - 2^-halvings."""
    return -math.expm1(steps * math.log1p(-(2.0**-halvings))) * 2.0**halvings
