"""How far block-sparse attention sees: layers until every block has heard of every other, and pairs seen in one.

Blocks are vertices. A block sees a window of w blocks (odd, no wrap), g global blocks, which also see all, and the
blocks at the end of r further links.
"""

import math


def window_layers(blocks: int, window: int) -> int:
    """Layers until the ends have heard of each other through a window alone, which moves w // 2 blocks a layer.

    Raises:
        ValueError: if the window shows a block nothing but itself and there are others.
    """
    if window < 2 and blocks > 1:
        raise ValueError(f"through a window of {window} a block never reaches the other {blocks - 1}")
    return max(1, math.ceil((blocks - 1) / max(1, window // 2)))


def global_layers(blocks: int, window: int, global_blocks: int) -> int:
    """The same with at least one global block: to it and from it, unless one layer shows everything."""
    everything = global_blocks >= blocks - 1 or window // 2 >= blocks - 1
    return 1 if everything else 2


def most_layers(blocks: int, random_blocks: int) -> float:
    """No more layers connect all blocks in the mean, with a window of 3 and r random links a row.

    The window alone takes n - 1. Two are enough unless two layers miss some pair. A pair is missed by what it would
    take to be heard of: none of the r links of the one leads to the other or to one of its neighbours, and none of
    the r blocks linked to, nor a neighbour, links to it. That has probability (1 - r / (n - 2))^(r + 3) at most.

    Source: docs/mathematics/sparse.md#layers-until-all-blocks-are-connected.
    """
    missed = (1 - random_blocks / (blocks - 2)) ** (random_blocks + 3)
    return 2 + (blocks - 3) * min(1.0, blocks**2 * missed)


def window_heard(blocks: int, window: int, layers: int) -> float:
    """The share of pairs that a window alone connects in `layers` layers: a band as many times wider."""
    reach = layers * (window // 2)
    return sum(min(blocks - 1, i + reach) - max(0, i - reach) + 1 for i in range(blocks)) / blocks**2


def visible_share(blocks: int, block: int, *, window: int, global_blocks: int, random_blocks: int) -> float:
    """The chance that a random query may look at a random other position.

    Rows of global blocks see all; other rows their window, the global blocks and r more, as far as there are any.
    """
    seen = 0
    for row in range(blocks):
        near = {c for c in range(row - window // 2, row + window // 2 + 1) if 0 <= c < blocks}
        always = near | set(range(global_blocks))
        seen += blocks if row < global_blocks else min(blocks, len(always) + random_blocks)
    n = blocks * block
    return (seen * block**2 - n) / (n * (n - 1))
