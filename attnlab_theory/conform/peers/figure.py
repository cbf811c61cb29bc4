"""The board as a figure: entry points by kinds, functions of attention above everything else."""

import re
import textwrap
from collections.abc import Mapping, Sequence
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

ROW = 0.38
"""Inches of a row."""

HEAD = 0.6
"""Inches of the names of the columns."""

NAMES, COLUMN = 2.9, 0.9
"""Inches of the names of the rows, and of a column."""

LONGEST = 38
"""A longer name of a row takes two lines."""

UNLIKE = {",": 0, "(": 0, " ": 10, ".": 4, "_": 16}
"""How much further from the middle, in characters, a name is rather cut than at such a character."""

KEY = {
    "holds": "no check of this column fails",
    "holds, no mask": "the same, but the calls had no mask, so that blind rows were not checked",
    "as documented": "a check fails, and the library says or shows that it is meant so",
    "agree": "two ways to call one object give the same outputs",
    "differ": "two ways to call one object give different outputs",
    "blind rows": "a query whose own keys are all masked reads keys that are hidden from it",
    "called": "every trial call ends with an error",
    "early queries": "with more queries than keys, a query before the first key reads keys that come after it",
    "more keys": "with more keys than queries, outputs are wrong",
    "visibility": "queries do not see the keys that they should",
    "masks": "the weights do not follow the mask",
    "causality": "outputs change with later tokens",
    "approximates": "outputs are not those of softmax attention on average over random draws",
    "token by token": "fed one token at a time with a cache, outputs are not those of the whole sequence",
    "mixer": "column of layers that map a sequence to a sequence",
    "decode": "column of layers that keep a cache of keys and values",
    "model": "column of decoders that map token ids to logits",
    "paths": "column that compares two ways to call one object",
}
"""What the words of cells and of some columns mean."""


def draw(found: Sequence[Result], paths_to: Sequence[Path]) -> None:
    """Write the figure to every path, each ending in .svg or .png."""
    from attnlab_theory.report.style import save

    save(lambda: drawn(found), paths_to)


def drawn(found: Sequence[Result]) -> "Figure":
    """The figure: functions of attention above, everything else below, and a key to the words of the cells."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    panels = parts(found)
    names = [[*columns(rows), "paths"] for rows in panels]
    cells = [
        {(i, j): _cell(result, kind, found) for i, result in enumerate(rows) for j, kind in enumerate(kinds)}
        for rows, kinds in zip(panels, names, strict=True)
    ]
    said = {*(text for each in cells for _, text in each.values()), *(kind for kinds in names for kind in kinds)}
    key = [f"{word}: {meaning}" for word, meaning in KEY.items() if word in said]
    failing = [{i for (i, _), (word, _) in each.items() if word == "fails"} for each in cells]
    count = sum(word == "fails" for each in cells for word, _ in each.values())
    heights = [HEAD + ROW * len(rows) for rows in panels]
    size = NAMES + COLUMN * max(map(len, names)), 0.8 + 0.17 * len(key) + sum(heights)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.1))
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for each in zip(axes, panels, names, cells, strict=True):
        _panel(*each)
    title = (
        f"Of {len(found)} attention functions, layers and decoders of other libraries, "
        f"{sum(map(len, failing))} fail a check\n"
        f"({count} dark cells, each with the name of the first check that fails).\n"
        "A column is a kind of attention, or what belongs to it. Grey: not offered, or not tried"
    )
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    figure.supxlabel("\n".join(key), x=0.01, ha="left", fontsize=9)
    return figure


def _cell(result: Result, kind: str, found: Sequence[Result]) -> tuple[str, str]:
    """What became of an entry point in a column, and the text of the cell."""
    if kind == "paths":
        cell = paths_of(result, found)
        return cell.word, agreement(cell).replace("FAILS", "differ")
    cell = cell_of(result, kind)
    return cell.word, cell.text.removeprefix("FAILS: ").replace("–", "")


def _panel(
    axes: "Axes", rows: Sequence[Result], names: Sequence[str], cells: Mapping[tuple[int, int], tuple[str, str]]
) -> None:
    """Draw some entry points by the kinds that they have."""
    from matplotlib.patches import Rectangle

    for (i, j), (word, text) in cells.items():
        axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=COLOURS[word], linewidth=0))
        colour = "white" if word == "fails" else "black"
        shown = textwrap.fill(text, 9, break_long_words=False)
        axes.text(j, i, shown, ha="center", va="center", fontsize=9, color=colour, linespacing=1.0)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names], fontsize=9)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [_in_two(result.entry.called) for result in rows], fontsize=9)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _in_two(name: str) -> str:
    """A long name in two lines, cut between words near its middle."""
    # A comma and the space after it stay above, an opening parenthesis goes below.
    cuts = {end.end(): end[0][0] for end in re.finditer(r", |[ ._]", name)}
    cuts |= {at: "(" for at, character in enumerate(name) if character == "(" and at}
    if len(name) <= LONGEST or not cuts:
        return name
    cut = min(cuts, key=lambda at: abs(2 * at - len(name)) + UNLIKE[cuts[at]])
    return f"{name[:cut].rstrip()}\n{name[cut:]}"
