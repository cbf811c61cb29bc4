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
        raise ValueError(f"through a window of {window}, blocks never hear of the other {blocks - 1}")
    return max(1, math.ceil((blocks - 1) / max(1, window // 2)))


def global_layers(blocks: int, window: int, global_blocks: int) -> int:
    """The same with at least one global block: to it and from it, unless one layer shows everything."""
    everything = global_blocks >= blocks - 1 or window // 2 >= blocks - 1
    return 1 if everything else 2


def most_heard(random_blocks: int, layers: int) -> int:
    """How many blocks a block has heard of after some layers of a window of 3 and r random links, if none twice.

    A branching law of two kinds. A block that was reached by a random link has two neighbours in its window that
    are new. One that was reached through a window has one. Both have r new random links. So the numbers of the two
    kinds that are just heard of, (x, y), become (r (x + y), 2 x + y).

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    heard, by_link, by_window = 1, 0, 0
    for layer in range(layers):
        if layer == 0:
            by_link, by_window = random_blocks, 2
        else:
            by_link, by_window = random_blocks * (by_link + by_window), 2 * by_link + by_window
        heard += by_link + by_window
    return heard


def branching_rate(random_blocks: int) -> float:
    """By what the number just heard of grows each layer: the larger root of x^2 = (1 + r) x + r."""
    r = random_blocks
    return (1 + r + math.sqrt((1 - r) ** 2 + 8 * r)) / 2


def share_heard(blocks: int, random_blocks: int, layers: int) -> tuple[float, float]:
    """Bounds on the mean share of blocks heard of: `most_heard`, and what meeting and the ends can take off it.

    Two blocks of the branching law are one with probability at most 1 / (n - 3 - r): a random link leads to any
    block that is not seen anyway. A step through a window leads over an end with probability 1 / n, and takes what
    would follow with it. The law has no more than l such steps above each of its blocks.
    """
    most = most_heard(random_blocks, layers)
    meetings = most * (most - 1) / 2 / (blocks - 3 - random_blocks)
    least = most - meetings - layers * most / blocks
    return max(0.0, least) / blocks, min(1.0, most / blocks)


def fewest_layers(blocks: int, random_blocks: int) -> int:
    """The layers before which a window of 3 and r random links cannot have connected all blocks: `most_heard`."""
    layers = 1
    while most_heard(random_blocks, layers) < blocks:
        layers += 1
    return layers


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
