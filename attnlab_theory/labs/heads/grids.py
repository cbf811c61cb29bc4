"""A number of every head as a grid, layer by head. Imports matplotlib: import this module where one is drawn."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from attnlab_theory.claims import Beyond, Findings, Statement, Verdict
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import beyond, from_the_side_of, on_the_side_of
from attnlab_theory.labs.plots import control, note
from attnlab_theory.report import style
from attnlab_theory.stats import Interval

MARKS = {Verdict.SUPPORTED: "+", Verdict.REFUTED: "−", Verdict.INCONCLUSIVE: "?"}
VERDICTS = "+ shown: yes, − shown: no, ? undecided (tested for all heads of a panel together)"
BEYOND = "a number: beyond the scale"
UNKNOWN = "hatched: not known"
"""The meaning of what stands in the cells."""

OUTLINED = (withStroke(linewidth=3.2, foreground="black"),)
"""A line that is seen on every colour."""

LONE = 2.0
"""If the largest number is this many times the next one, the scale ends at the next one. Else all others would have
one colour.
"""

Shape = tuple[int, int]
"""Layers, and heads of each."""


class Panel(NamedTuple):
    """A grid of a figure."""

    title: str
    found: Estimates
    """One number for each head, or fewer."""
    verdicts: Findings = Findings()
    """What is written into the cells."""
    top: float | None = None
    """The end of the scale; None for the largest number that is not far above the next one."""
    controls: Mapping[str, float] = {}
    """What controls reach, by their names: lines on the colour bar."""


def medians(estimates: Estimates, stated: Statement) -> dict[str, float]:
    """What the strongest control of a head reaches, median over heads; nothing if nobody measured one.

    Args:
        estimates: of the lab.
        stated: a statement about heads. If it has two ends, a control is known by its distance from their middle.
    """
    name = beyond(stated.name)
    found = [e for e in estimates if e.quantity == name]
    if not found:
        return {}
    own = {_head(e): e.value for e in estimates.of(stated.quantity)}
    assert isinstance(stated.predicted, Interval), "statements about heads have fixed ends"
    assert isinstance(stated.control, Beyond)
    reached = float(np.median([on_the_side_of(stated.predicted, own[_head(e)]) - e.value for e in found]))
    told = f"{stated.control.what}: the strongest control of a head, median over heads"
    return {told: from_the_side_of(stated.predicted, reached)}


def grid(
    ax: Axes,
    found: Estimates,
    shape: Shape,
    verdicts: Mapping[tuple[int, int], Verdict] = {},
    *,
    top: float | None = None,
    controls: Mapping[str, float] = {},
) -> set[str]:
    """One cell for each head, hatched if nothing is known. A number far above all others is written into its cell.

    Args:
        ax: where to draw.
        found: one number for each head, or fewer.
        shape: of the grid.
        verdicts: what is written into the cells.
        top: the end of the scale; if it is left out, the largest number that is not far above the next one.
        controls: lines on the colour bar, by their names. The scale reaches as far as they do.

    Returns:
        Which of `VERDICTS`, `BEYOND` and `UNKNOWN` there are.
    """
    cells = np.full(shape, np.nan)
    for e in found:
        cells[e.setting["layer"] - 1, e.setting["head"] - 1] = e.value
    low, high = (
        min([0.0, float(np.nanmin(cells)), *controls.values()]),
        max([_end(cells), *controls.values()]) if top is None else top,
    )
    # The middle of the scale is grey: another grey would be read as a number.
    ax.patch.set(facecolor="white", edgecolor="#999999", hatch="////", linewidth=0)
    image = ax.imshow(np.ma.masked_invalid(cells), vmin=low, vmax=max(high, low + 1e-9), aspect="auto")
    beyond = np.zeros(shape, bool) if top is not None else cells > high
    for layer, head in {*verdicts, *((int(i) + 1, int(j) + 1) for i, j in np.argwhere(beyond))}:
        value, at = cells[layer - 1, head - 1], (layer, head)
        mark = MARKS[verdicts[at]] if at in verdicts else ""
        said = f"{value:.2g}\n{mark}".strip() if beyond[layer - 1, head - 1] else mark
        colour = "white" if value < (low + high) / 2 else "black"
        size = 10 if said == mark else 8
        ax.text(head - 1, layer - 1, said, ha="center", va="center", color=colour, fontsize=size)
    ax.set_xticks(range(shape[1]), [str(h + 1) for h in range(shape[1])])
    ax.set_yticks(range(shape[0]), [str(layer + 1) for layer in range(shape[0])])
    ax.set(xlabel="head", ylabel="layer")
    ax.grid(visible=False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.9)
    for dashes, (what, reached) in zip(("-", (0, (1.5, 1))), controls.items(), strict=False):
        control(bar.ax, reached, what, color="white", linestyle=dashes, linewidth=1.6, path_effects=OUTLINED)
    seen = {VERDICTS: bool(verdicts), BEYOND: bool(beyond.any()), UNKNOWN: bool(np.isnan(cells).any())}
    return {told for told, is_there in seen.items() if is_there}


def panels(title: str, columns: int, shape: Shape, shown: Sequence[Panel], *, told: str = "") -> Figure:
    """A figure of several grids, row by row. Lines below them say what the marks in the cells mean.

    Args:
        title: of the figure.
        columns: how many stand in a row.
        shape: of each grid.
        shown: what stands in them.
        told: what else is said below them.
    """
    rows = -(-len(shown) // columns)
    figure, axes = style.panels(title, rows, columns, size=size_of(shape, rows, columns))
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    seen: set[str] = set()
    for ax, panel in zip(axes, shown, strict=False):
        seen |= grid(ax, panel.found, shape, verdicts_of(panel.verdicts), top=panel.top, controls=panel.controls)
        ax.set_title(panel.title, fontsize=10)
    marks = "; ".join(mark for mark in (VERDICTS, BEYOND, UNKNOWN) if mark in seen)
    lines = {str(line.get_label()): line for ax in figure.axes for line in ax.lines}
    lines = {label: line for label, line in lines.items() if label[0] != "_"}
    said = "\n".join(filter(None, (marks, told, "lines on a colour bar, controls:" if lines else "")))
    if lines:
        # The legend explains the lines, and has the note for its title.
        look = {"loc": "outside lower left", "alignment": "left", "title_fontsize": 9}
        figure.legend(lines.values(), lines, title=said, **look)
    else:
        note(figure, said, fontsize=9)
    return figure


def _head(estimate: Estimate) -> tuple[int, int]:
    return estimate.setting["layer"], estimate.setting["head"]


def _end(cells: np.ndarray) -> float:
    """The largest number, or the next one if the largest stands alone."""
    known = np.sort(cells[np.isfinite(cells)])
    lone = len(known) > 1 and 0 < LONE * known[-2] < known[-1]
    return float(known[-2 if lone else -1])


def verdicts_of(findings: Findings) -> dict[tuple[int, int], Verdict]:
    """By layer and head, from 1."""
    return {(f.setting["layer"], f.setting["head"]): f.verdict for f in findings}


def shape_of(found: Estimates) -> Shape:
    """The shape of the grid of a number that is known of every head."""
    return max(e.setting["layer"] for e in found), max(e.setting["head"] for e in found)


def size_of(shape: Shape, rows: int, columns: int) -> tuple[float, float]:
    """The size in inches of a figure with this many grids."""
    layers, heads = shape
    return columns * max(4.8, 1.4 + 0.3 * heads), rows * max(2.2, 1.2 + 0.26 * layers) + 0.8


def supported(found: Findings) -> int:
    """How many are supported."""
    return sum(f.verdict == Verdict.SUPPORTED for f in found)


def tallied(found: Findings, what: str) -> str:
    """In how many of them a claim is shown to be true, in how many to be false, and in how many neither."""
    true, false = supported(found), sum(f.verdict == Verdict.REFUTED for f in found)
    named = f"{true} {what}{'s' * (true != 1)}"
    return f"shown true in {named}, false in {false}, undecided in {len(found) - true - false}"
