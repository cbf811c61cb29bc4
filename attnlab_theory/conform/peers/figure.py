"""The board as a figure: entry points by kinds."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory.conform.peers.cells import Result, agreement, cell_of, columns, paths_of

if TYPE_CHECKING:
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


def draw(found: Sequence[Result], paths_to: Sequence[Path]) -> None:
    """Write the figure to every path, each ending in .svg or .png."""
    from attnlab_theory.report.style import save

    save(lambda: _drawn(found), paths_to)


def _drawn(found: Sequence[Result]) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.patches import Rectangle

    kinds = columns(found)
    names = [*kinds, "paths"]
    figure = Figure(
        figsize=(4.4 + 0.9 * len(names), 1.2 + ROW * len(found)), layout=ConstrainedLayoutEngine(w_pad=0.15)
    )
    axes = figure.subplots()
    count = 0
    for i, result in enumerate(found):
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
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(found) - 0.5, -0.5))
    axes.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names], fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(found)), [result.entry.called for result in found], fontsize=8)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    title = (
        f"Of {len(found)} functions and layers of other libraries, {count} cells fail (dark) and say in what;\n"
        "a column is a kind of attention, grey where none is offered; paths: whether ways to call it agree"
    )
    figure.suptitle(title, fontsize=11)
    return figure
