"""How far block-sparse attention reaches: the layers until all blocks are connected, and the pairs of one layer.

Blocks are the vertices of a graph. A block sees a window of w blocks (odd, no wrap), g global blocks, which also
see all, and the blocks at the end of r random links. It has *heard of* a block if a path of links, one for each
layer, leads to that block.
"""

import math


def window_layers(blocks: int, window: int) -> int:
    """Layers until the two ends have heard of each other by a window alone, which reaches w // 2 blocks a layer.

    Raises:
        ValueError: if a window shows each block itself alone, and there are others.
    """
    if window < 2 and blocks > 1:
        raise ValueError(f"through a window of {window} a block never reaches the other {blocks - 1}")
    return max(1, math.ceil((blocks - 1) / max(1, window // 2)))


def global_layers(blocks: int, window: int, global_blocks: int) -> int:
    """The same with at least one global block: a layer to it and a layer from it, or one layer if it shows all.

    The last block sees half a window and the global blocks at the other end. It sees all if these meet.
    """
    return 1 if global_blocks + window // 2 >= blocks - 1 else 2


def most_layers(blocks: int, random_blocks: int) -> float:
    """An upper bound on the mean number of layers that connect all blocks.

    Each row has a window of 3 and r random links. The window alone takes n - 1 layers. Two are enough unless two
    layers miss some pair. They miss a pair of blocks, A and B, in one case only. None of the r links of A leads to
    B or to a neighbour of B. And none of the blocks that A links to, nor a neighbour of A, links to B. The
    probability of that is at most (1 - r / (n - 2))^(r + 3).

    Source: docs/mathematics/sparse.md#layers-until-all-blocks-are-connected.
    """
    missed = (1 - random_blocks / (blocks - 2)) ** (random_blocks + 3)
    return 2 + (blocks - 3) * min(1.0, blocks**2 * missed)


def window_heard(blocks: int, window: int, layers: int) -> float:
    """The share of pairs that a window alone connects in `layers` layers. It is a band, `layers` times as wide."""
    reach = layers * (window // 2)
    return sum(min(blocks - 1, i + reach) - max(0, i - reach) + 1 for i in range(blocks)) / blocks**2


def visible_share(blocks: int, block: int, *, window: int, global_blocks: int, random_blocks: int) -> float:
    """The chance that a random query may look at a random other position.

    Rows of global blocks see all. Other rows see their window, the global blocks and r more, if there are so many.
    """
    seen = 0
    for row in range(blocks):
        near = {c for c in range(row - window // 2, row + window // 2 + 1) if 0 <= c < blocks}
        always = near | set(range(global_blocks))
        seen += blocks if row < global_blocks else min(blocks, len(always) + random_blocks)
    n = blocks * block
    return (seen * block**2 - n) / (n * (n - 1))
