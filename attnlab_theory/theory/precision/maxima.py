"""How often a running maximum changes (docs/mathematics/precision.md)."""


def changes(blocks: int, rows: float) -> float:
    """Blocks after the first in which the maximum of some of `rows` independent rows rises.

    Block b holds a row's record with the chance 1/b.

    Source: docs/mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile.
    """
    return sum(1 - (1 - 1 / b) ** rows for b in range(2, blocks + 1))
