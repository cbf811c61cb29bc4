"""A state that is stored in few digits after every step (docs/mathematics/precision.md)."""


def is_stuck(halvings: int, digits: int = 8) -> bool:
    """Whether a decay of 1 - 2^-halvings changes no number of so many binary digits: halvings > digits.

    Source: docs/mathematics/precision.md#a-state-of-few-digits-never-forgets.
    """
    return halvings > digits


def left(halvings: int, steps: int) -> float:
    """What exact arithmetic leaves: (1 - 2^-halvings)^steps."""
    return (1 - 2.0**-halvings) ** steps
