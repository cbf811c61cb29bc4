"""The board as a figure: entry points by kinds, functions of attention above everything else."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory.conform.peers.cells import Result, agreement, cell_of, columns, parts, paths_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "holds": "#9fd8c3",
    "fails": "#D55E00",
    "unmasked": "#9fd8c3",
    "as documented": "#f3d58a",
    "cannot": "#f2f2f2",
}
"""Cells are light where nothing is wrong, so that the dark ones are seen in grey too."""

ROW = 0.3
"""Inches of a row."""

HEAD = 0.6
"""Inches of the names of the columns."""


def draw(found: Sequence[Result], paths_to: Sequence[Path]) -> None:
    """Write the figure to every path, each ending in .svg or .png."""
    from attnlab_theory.report.style import save

    save(lambda: _drawn(found), paths_to)


def _drawn(found: Sequence[Result]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    panels = parts(found)
    names = [[*columns(rows), "paths"] for rows in panels]
    width = 4.4 + 0.9 * max(map(len, names))
    heights = [HEAD + ROW * len(rows) for rows in panels]
    figure = Figure(figsize=(width, 0.6 + sum(heights)), layout=ConstrainedLayoutEngine(w_pad=0.15))
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    count = sum(_panel(*each, found) for each in zip(axes, panels, names, strict=True))
    title = (
        f"Of {len(found)} functions and layers of other libraries, {count} cells fail (dark) and say in what.\n"
        "A column is a kind of attention, grey where none is offered. paths: whether two ways to call it agree"
    )
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: "Axes", rows: Sequence[Result], names: Sequence[str], found: Sequence[Result]) -> int:
    """Draw some entry points by the kinds that they have, and count the cells that fail."""
    from matplotlib.patches import Rectangle

    count = 0
    for i, result in enumerate(rows):
        for j, kind in enumerate(names):
            if kind == "paths":
                cell = paths_of(result, found)
                text = agreement(cell).replace("FAILS", "differ")
            else:
                cell = cell_of(result, kind)
                text = cell.text.removeprefix("FAILS: ").replace("–", "")
            words = cell.word
            count += words == "fails"
            axes.add_patch(Rectangle((j - 0.48, i - 0.44), 0.96, 0.88, color=COLOURS[words], linewidth=0))
            axes.text(
                j, i, text, ha="center", va="center", fontsize=7.5, color="white" if words == "fails" else "black"
            )
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names], fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [result.entry.called for result in rows], fontsize=8)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return count
