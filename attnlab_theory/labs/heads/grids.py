"""A number of every head as a grid, layer by head. Imports matplotlib: import this module where one is drawn."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates

MARKS = {Verdict.SUPPORTED: "+", Verdict.REFUTED: "−", Verdict.INCONCLUSIVE: "?"}
LEGEND = "+ shown to hold, − shown not to, ? undecided"
"""What the marks in the cells are."""

Shape = tuple[int, int]
"""Layers, and heads of each."""


def grid(
    ax: Axes,
    found: Estimates,
    shape: Shape,
    verdicts: Mapping[tuple[int, int], Verdict] = {},
    *,
    top: float | None = None,
) -> None:
    """One cell for each head; grey where nothing is known.

    Args:
        ax: where to draw.
        found: one number for each head, or fewer.
        shape: of the grid.
        verdicts: what is written into the cells.
        top: the end of the scale; the largest number if it is left out.
    """
    cells = np.full(shape, np.nan)
    for e in found:
        cells[e.setting["layer"] - 1, e.setting["head"] - 1] = e.value
    low, high = min(0.0, float(np.nanmin(cells))), float(np.nanmax(cells)) if top is None else top
    ax.set_facecolor("#dddddd")
    image = ax.imshow(np.ma.masked_invalid(cells), vmin=low, vmax=max(high, low + 1e-9), aspect="auto")
    for (layer, head), verdict in verdicts.items():
        dark = cells[layer - 1, head - 1] < (low + high) / 2
        colour = "white" if dark else "black"
        ax.text(head - 1, layer - 1, MARKS[verdict], ha="center", va="center", color=colour, fontsize=8)
    ax.set_xticks(range(shape[1]), [str(h + 1) for h in range(shape[1])])
    ax.set_yticks(range(shape[0]), [str(layer + 1) for layer in range(shape[0])])
    ax.set(xlabel="head", ylabel="layer")
    ax.grid(visible=False)
    ax.figure.colorbar(image, ax=ax, shrink=0.9)


def verdicts_of(findings: Findings) -> dict[tuple[int, int], Verdict]:
    """By layer and head, from 1."""
    return {(f.setting["layer"], f.setting["head"]): f.verdict for f in findings}


def shape_of(found: Estimates) -> Shape:
    """Of a number that is known of every head."""
    return max(e.setting["layer"] for e in found), max(e.setting["head"] for e in found)


def size_of(shape: Shape, rows: int, columns: int) -> tuple[float, float]:
    """Of a figure with so many grids, in inches."""
    layers, heads = shape
    return columns * max(3.6, 1.4 + 0.3 * heads), rows * max(2.2, 1.2 + 0.26 * layers) + 0.8
