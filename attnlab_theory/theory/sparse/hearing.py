"""How many blocks one block has heard of after some layers, with a window of 3 and r random links a row.

A block has heard of another if a path of links, one for each layer, leads to it. A *branching law* counts blocks
as if none were reached twice. Blocks that are reached twice, and the ends of the sequence, lower the number. Both
effects are bounded (docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of). n is the number of blocks.
"""

import math


def just_heard(random_blocks: int, layers: int) -> tuple[int, int]:
    """How many blocks are new in this layer, by the branching law: those by a random link, and those by a window.

    A block that was reached by a link has two new neighbours. One that was reached by a window has one. Both have
    r new links. So (x, y) become (r (x + y), 2 x + y). Layer 0 is the block itself, (1, 0).
    """
    by_link, by_window = 1, 0
    for _ in range(layers):
        by_link, by_window = random_blocks * (by_link + by_window), 2 * by_link + by_window
    return by_link, by_window


def most_heard(random_blocks: int, layers: int) -> int:
    """How many blocks have been reached after some layers by the branching law, the first included. No more can be.

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    return sum(sum(just_heard(random_blocks, layer)) for layer in range(layers + 1))


def branching_rate(random_blocks: int) -> float:
    """The factor by which the number of new blocks grows in each layer: the larger root of x^2 = (1 + r) x + r."""
    r = random_blocks
    return (1 + r + math.sqrt((1 - r) ** 2 + 8 * r)) / 2


def fewest_layers(blocks: int, random_blocks: int) -> int:
    """The fewest layers in which a window of 3 and r random links can connect all blocks, by `most_heard`."""
    layers = 1
    while most_heard(random_blocks, layers) < blocks:
        layers += 1
    return layers


def met(blocks: int, random_blocks: int, layer: int) -> tuple[float, float]:
    """Bounds on the mean number of blocks that this layer is the first to lose: those by a link, and by a window.

    The branching law counts the lost blocks though they have been reached before. Each meets a given earlier block
    with probability at most 1 / (n - 2 - r). Within a layer those by links come first. A block by a window may
    instead lie beyond an end of the sequence, with no larger probability.
    """
    before = most_heard(random_blocks, layer - 1)
    by_link, by_window = just_heard(random_blocks, layer)
    chance = 1 / (blocks - 2 - random_blocks)
    pairs_of_links = by_link * before + by_link * (by_link - 1) / 2
    pairs_of_windows = by_window * (before + by_link + 1) + by_window * (by_window - 1) / 2
    return chance * pairs_of_links, chance * pairs_of_windows


def descendants(random_blocks: int, layers: int) -> tuple[int, int]:
    """How many blocks the branching law reaches `layers` below a block by a link, and below one by a window."""
    below_link, below_window = 1, 1
    for _ in range(layers):
        linked = random_blocks * below_link
        below_link, below_window = linked + 2 * below_window, linked + below_window
    return below_link, below_window


def lost(blocks: int, random_blocks: int, layer: int) -> float:
    """An upper bound on the mean number of blocks that this layer lacks of the branching law.

    If a block is lost in an earlier layer, all blocks below it are lost too: they have been reached from the other
    one.
    """
    total = 0.0
    for first in range(1, layer + 1):
        pairs = zip(met(blocks, random_blocks, first), descendants(random_blocks, layer - first), strict=True)
        total += sum(meetings * below for meetings, below in pairs)
    return total


def share_heard(blocks: int, random_blocks: int, layers: int) -> tuple[float, float]:
    """Bounds on the mean share of blocks heard of, n > r + 2.

    The lower bound is the branching law minus what its layers lose. The upper bound takes all from the law but the
    last layer's links. The links of each new block miss any other block with probability at least 1 - r / (n - 3).

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    n, r = blocks, random_blocks
    least = most_heard(r, layers) - sum(lost(n, r, layer) for layer in range(1, layers + 1))
    near = most_heard(r, layers - 1) + just_heard(r, layers)[1]
    missed = max(0, n - near) * (1 - r / (n - 3)) ** sum(just_heard(r, layers - 1))
    return max(0.0, least) / n, 1 - missed / n


def share_heard_if_all_meet_by_chance(blocks: int, random_blocks: int, layers: int) -> float:
    """A false lower bound: any two blocks of the law are the same with probability at most 1 / (n - 3 - r).

    It leaves out the pairs below two that are the same. Steps over an end are l / n for each block of the law.
    """
    most = most_heard(random_blocks, layers)
    meetings = most * (most - 1) / 2 / (blocks - 3 - random_blocks)
    return (most - meetings - layers * most / blocks) / blocks


def growth(blocks: int, random_blocks: int, layer: int) -> tuple[float, float]:
    """Bounds on the mean number of new blocks in this layer, divided by that in the layer before.

    While nothing is lost, it is the number of the branching law, which tends to `branching_rate`. Losses of this
    layer lower it. Losses of the layer before may raise it, to at most r + 2.

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    now, before = (sum(just_heard(random_blocks, each)) for each in (layer, layer - 1))
    lowered = (now - lost(blocks, random_blocks, layer)) / before
    raised = now / before + (random_blocks + 2 - now / before) * min(1.0, lost(blocks, random_blocks, layer - 1))
    rate = branching_rate(random_blocks)
    return min(lowered, rate), max(raised, rate)
