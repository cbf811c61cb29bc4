"""How many blocks one block has heard of after some layers of a window of 3 and r random links a row.

A law that branches counts them as if none were met twice. Meetings and the ends of the sequence take some off; both
are bounded (docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of). n counts blocks.
"""

import math


def just_heard(random_blocks: int, layers: int) -> tuple[int, int]:
    """How many blocks the law hears of in this layer and not before: by a random link, and through a window.

    A block that was reached by a link has two neighbours that are new, one that was reached through a window one.
    Both have r new links. So (x, y) become (r (x + y), 2 x + y). Layer 0 is the block itself, (1, 0).
    """
    by_link, by_window = 1, 0
    for _ in range(layers):
        by_link, by_window = random_blocks * (by_link + by_window), 2 * by_link + by_window
    return by_link, by_window


def most_heard(random_blocks: int, layers: int) -> int:
    """How many blocks the law has heard of after some layers, the block itself included: nobody hears of more.

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    return sum(sum(just_heard(random_blocks, layer)) for layer in range(layers + 1))


def branching_rate(random_blocks: int) -> float:
    """By what the number just heard of grows each layer: the larger root of x^2 = (1 + r) x + r."""
    r = random_blocks
    return (1 + r + math.sqrt((1 - r) ** 2 + 8 * r)) / 2


def fewest_layers(blocks: int, random_blocks: int) -> int:
    """The layers before which a window of 3 and r random links cannot have connected all blocks: `most_heard`."""
    layers = 1
    while most_heard(random_blocks, layers) < blocks:
        layers += 1
    return layers


def met(blocks: int, random_blocks: int, layer: int) -> tuple[float, float]:
    """The most blocks of the law, in the mean, that this layer loses first: by a link, and through a window.

    Each meets a given block of the law before it with probability 1 / (n - 2 - r) at most. Within a layer those by
    links come first. One through a window may step over an end instead, with no larger probability.
    """
    before = most_heard(random_blocks, layer - 1)
    by_link, by_window = just_heard(random_blocks, layer)
    chance = 1 / (blocks - 2 - random_blocks)
    pairs_of_links = by_link * before + by_link * (by_link - 1) / 2
    pairs_of_windows = by_window * (before + by_link + 1) + by_window * (by_window - 1) / 2
    return chance * pairs_of_links, chance * pairs_of_windows


def descendants(random_blocks: int, layers: int) -> tuple[int, int]:
    """How many blocks the law hears of so many layers below one by a link, and below one through a window."""
    below_link, below_window = 1, 1
    for _ in range(layers):
        linked = random_blocks * below_link
        below_link, below_window = linked + 2 * below_window, linked + below_window
    return below_link, below_window


def lost(blocks: int, random_blocks: int, layer: int) -> float:
    """The most that this layer lacks, in the mean, of what the law hears of in it.

    What is lost first in an earlier layer takes all below it along: blocks below two that met have met as well.
    """
    total = 0.0
    for first in range(1, layer + 1):
        pairs = zip(met(blocks, random_blocks, first), descendants(random_blocks, layer - first), strict=True)
        total += sum(meetings * below for meetings, below in pairs)
    return total


def share_heard(blocks: int, random_blocks: int, layers: int) -> tuple[float, float]:
    """Bounds on the mean share of blocks heard of, n > r + 2.

    From below: the law, less what its layers lose. From above: all but the last layer's links as in the law. Every
    other block is missed by the links of each that is just heard of with probability 1 - r / (n - 3) at least.

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    n, r = blocks, random_blocks
    least = most_heard(r, layers) - sum(lost(n, r, layer) for layer in range(1, layers + 1))
    near = most_heard(r, layers - 1) + just_heard(r, layers)[1]
    missed = max(0, n - near) * (1 - r / (n - 3)) ** sum(just_heard(r, layers - 1))
    return max(0.0, least) / n, 1 - missed / n


def share_heard_if_all_meet_by_chance(blocks: int, random_blocks: int, layers: int) -> float:
    """A lower bound that is false: every pair of the law is one block with probability 1 / (n - 3 - r) at most.

    Pairs below two that met are left out. Steps over an end are l / n for each block of the law.
    """
    most = most_heard(random_blocks, layers)
    meetings = most * (most - 1) / 2 / (blocks - 3 - random_blocks)
    return (most - meetings - layers * most / blocks) / blocks


def growth(blocks: int, random_blocks: int, layer: int) -> tuple[float, float]:
    """Bounds on the mean of how many are just heard of in this layer, over how many in the layer before.

    While nothing is lost it is the law's own number, which tends to `branching_rate`. What this layer loses lowers
    it. What the one before loses may raise it, to r + 2 at most.

    Source: docs/mathematics/sparse.md#how-many-blocks-have-been-heard-of.
    """
    now, before = (sum(just_heard(random_blocks, each)) for each in (layer, layer - 1))
    lowered = (now - lost(blocks, random_blocks, layer)) / before
    raised = now / before + (random_blocks + 2 - now / before) * min(1.0, lost(blocks, random_blocks, layer - 1))
    rate = branching_rate(random_blocks)
    return min(lowered, rate), max(raised, rate)
