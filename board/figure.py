"""The board as a figure: entry points by kinds, functions of attention above everything else."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory.conform.board import TEXTS, with_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "holds": "#9fd8c3",
    "unmasked": "#9fd8c3",
    "bug": "#D55E00",
    "biased": "#E3A9C8",
    "undefined": "#8CC8F0",
    "documented": "#f3d58a",
    "cannot": "#f2f2f2",
}
"""By the word of a cell. Only bugs are dark, so that they are seen in grey too."""

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
    "undefined by the library": "a query that sees no key reads keys that are hidden from it, and the library says "
    "nothing of such queries",
    "biased": "outputs are not those of softmax attention on average over random draws",
    "called": "every trial call ends with an error",
    "more keys": "with more keys than queries, outputs are wrong",
    "visibility": "queries do not see the keys that they should",
    "masks": "the weights do not follow the mask",
    "hidden numbers": "a key that a mask hides is read where its numbers are huge",
    "causality": "outputs change with later tokens",
    "token by token": "fed one token at a time with a cache, outputs are not those of the whole sequence",
    "mixer": "column of layers that map a sequence to a sequence",
    "decode": "column of layers that keep a cache of keys and values",
    "model": "column of decoders that map token ids to logits",
    "paths": "column that compares two ways to call one object",
}
"""What the words of cells and of some columns mean."""


def draw(board: Mapping[str, Any], paths_to: Sequence[Path]) -> None:
    """Write the figure of a board to every path, each ending in .svg or .png."""
    from attnlab_theory.report.style import save

    save(lambda: drawn(board), paths_to)


def drawn(board: Mapping[str, Any]) -> "Figure":
    """The figure: functions of attention above, everything else below, and a key to the words of the cells."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    parts = board["parts"]
    cells = [
        {
            (i, j): _cell(entry["cells"].get(column, {"word": "cannot"}), column)
            for i, entry in enumerate(part["entries"])
            for j, column in enumerate(part["columns"])
        }
        for part in parts
    ]
    said = {text for each in cells for _, text in each.values()}.union(*(part["columns"] for part in parts))
    key = [f"{word}: {meaning}" for word, meaning in KEY.items() if word in said]
    heights = [HEAD + ROW * len(part["entries"]) for part in parts]
    size = NAMES + COLUMN * max(len(part["columns"]) for part in parts), 0.8 + 0.17 * len(key) + sum(heights)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.1))
    axes = figure.subplots(len(parts), squeeze=False, height_ratios=heights)[:, 0]
    for each in zip(axes, parts, cells, strict=True):
        _panel(*each)
    count = {word: len([*with_word(board, word)]) for word in ("bug", "biased", "undefined")}
    entries = sum(len(part["entries"]) for part in parts)
    title = (
        f"{entries} attention functions, layers and decoders of other libraries: "
        f"a maintainer would call {count['bug']} cells a bug\n"
        "(dark, each with the name of the first check that fails). "
        f"{count['undefined']} are undefined by the library (blue), {count['biased']} biased (pink).\n"
        "A column is a kind of attention, or what belongs to it. Grey: not offered, or not tried"
    )
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    figure.supxlabel("\n".join(key), x=0.01, ha="left", fontsize=9)
    return figure


def _cell(cell: Mapping[str, Any], column: str) -> tuple[str, str]:
    """The word of a cell, and its text."""
    word = cell["word"]
    if word == "cannot":
        return word, ""
    if column == "paths" and word in ("holds", "bug"):
        return word, {"holds": "agree", "bug": "differ"}[word]
    return word, cell["identity"] if word == "bug" else TEXTS[word]


def _panel(axes: "Axes", part: Mapping[str, Any], cells: Mapping[tuple[int, int], tuple[str, str]]) -> None:
    """Draw some entry points by the kinds that they have."""
    from matplotlib.patches import Rectangle

    names, rows = part["columns"], part["entries"]
    for (i, j), (word, text) in cells.items():
        axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=COLOURS[word], linewidth=0))
        colour = "white" if word == "bug" else "black"
        shown = textwrap.fill(text, 9, break_long_words=False)
        if shown.count("\n") > 1:
            shown = textwrap.fill(text, 12)
        size = 9 if max(map(len, shown.split("\n"))) < 12 else 7.5
        axes.text(j, i, shown, ha="center", va="center", fontsize=size, color=colour, linespacing=1.0)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(names)), [name.replace("-", "-\n") for name in names], fontsize=9)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [_in_two(entry["called"]) for entry in rows], fontsize=9)
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
