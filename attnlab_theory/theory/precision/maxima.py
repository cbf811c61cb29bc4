"""How often a running maximum changes (docs/mathematics/precision.md)."""

import numpy as np
import scipy.special


def changes(blocks: int, rows: float) -> float:
    """Blocks after the first in which the maximum of some of `rows` independent rows rises.

    Block b holds a row's record with the chance 1/b.

    Source: docs/mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile.
    """
    return sum(1 - (1 - 1 / b) ** rows for b in range(2, blocks + 1))


def rescalings(blocks: int, size: int, spread: float, rise: float) -> float:
    """How often a row rescales that ignores rises up to `rise`, over blocks of independent scores N(0, spread^2).

    With k blocks to come and the reference r, T_k(r) = E[1 + T_{k-1}(x); x > r + rise] + P(x <= r + rise)
    T_{k-1}(r), x the largest score of a block. The first block sets the reference. A grid of cells of which a whole
    number makes up the rise; a cell that the threshold halves counts half.

    Source: docs/mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile.
    """
    cells = 400
    width = rise / cells
    edges = np.arange(-6 * spread, 9 * spread + rise, width)
    below = scipy.special.ndtr(edges / spread) ** size
    at = (edges[1:] + edges[:-1]) / 2
    chances = np.diff(below)
    stay = scipy.special.ndtr((at + rise) / spread) ** size
    expected = np.zeros(len(at))
    for _ in range(blocks - 1):
        terms = chances * (1 + expected)
        beyond = np.concatenate([np.cumsum(terms[::-1])[::-1], np.zeros(cells + 1)])
        expected = beyond[cells + 1 :][: len(at)] + np.pad(terms, (0, cells))[cells:] / 2 + stay * expected
    return float(chances @ expected)
