"""One plot style: predicted as a line or a shade, measured as intervals, readable in grey.

Imports matplotlib, which costs half a second: import this module inside `draw_figure`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from attnlab_theory import files
from attnlab_theory.claims import Findings
from attnlab_theory.exits import visible

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, which the colour-blind can tell apart. Neighbours differ in grey too."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))

INK = "#444444"
"""The colour of the legend that all figures share. No series has it."""

REFUTED = "#8c8c8c"
"""The colour of every prediction that is known to be wrong."""

REFUTED_DASHES = ((0, (4, 3)), (0, (1, 2)))

SEEN = 0.02
"""The width of a range that is seen, as a share of the largest number in it."""

RANGE = "_range"
"""The label of the shade of a predicted range. Legends leave it out for its first character."""

SETTINGS: "dict[RcKeyType, Any]" = {
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2.5,
    "image.cmap": "cividis",
    # Figures are the same bytes on every run: no random identifiers, no date.
    "svg.hashsalt": "attnlab",
    "svg.fonttype": "path",
}

METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {"Software": None}}
"""Nothing in a figure may change from run to run."""

ALONE: dict[str, dict[str, Any]] = {".svg": {"Date": None, "Title": "attnlab"}, ".png": {"Software": "attnlab"}}
"""A figure that has no numbers beside it says whose it is, so that it may be written over: `files.is_ours`."""


def panels(
    title: str,
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float] | None = None,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure whose title states the finding, and its axes in reading order.

    Args:
        title: the finding, in a sentence.
        rows, columns: of panels.
        size: in inches; by default 6.4 by 4 for one panel, 4.8 by 3.8 for each of several.
        heights: of the rows, relative to one another; equal by default.
    """
    width, height = size or ((6.4, 4.0) if rows * columns == 1 else (4.8 * columns, 3.8 * rows))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left", wrap=True)
    return figure, [ax for row in axes for ax in row]


def draw_predicted(ax: Axes, findings: Findings, x: str, *, label: str | None = None, series: int = 0) -> None:
    """What was predicted, against one field of the setting: a line, or a shade where it is a band."""
    order = sorted(findings, key=lambda f: f.setting[x])
    xs = [f.setting[x] for f in order]
    lows, highs = [f.predicted.low for f in order], [f.predicted.high for f in order]
    style = {"color": COLOURS[series % len(COLOURS)], "linestyle": DASHES[series % len(DASHES)]}
    if all(low == high for low, high in zip(lows, highs, strict=True)):
        ax.plot(xs, lows, label=label, **style)
        return
    for ends in (lows, highs):
        if all(map(math.isfinite, ends)):
            ax.plot(xs, ends, label=label, **style)
            label = None
    if all(map(math.isfinite, lows + highs)):
        # Ends that the eye takes for one line need no word in the legend.
        is_seen = any(
            high - low > SEEN * max(map(abs, lows + highs)) for low, high in zip(lows, highs, strict=True)
        )
        told = RANGE if is_seen else None
        ax.fill_between(xs, lows, highs, color=style["color"], alpha=0.15, linewidth=0, label=told)


def draw_measured(ax: Axes, findings: Findings, x: str, *, label: str | None = None, series: int = 0) -> None:
    """What was measured, as intervals against one field of the setting."""
    order = sorted(findings, key=lambda f: f.setting[x])
    centres = [f.measured.centre for f in order]
    radii = [f.measured.width / 2 for f in order]
    ax.errorbar(
        [f.setting[x] for f in order],
        centres,
        yerr=radii,
        label=label,
        fmt=MARKERS[series % len(MARKERS)],
        color=COLOURS[series % len(COLOURS)],
        markerfacecolor="white",
    )


def draw_refuted(ax: Axes, findings: Findings, x: str, *, label: str, series: int = 0) -> None:
    """What a foil predicted: grey, dashed and labelled "refuted: ...". What was measured is drawn elsewhere.

    A second foil of the same panel, of series 1, has other dashes.
    """
    order = sorted(findings, key=lambda f: f.setting[x])
    lows, highs = [f.predicted.low for f in order], [f.predicted.high for f in order]
    told: str | None = f"refuted: {label}"
    for ends in [lows] if lows == highs else [lows, highs]:
        if all(map(math.isfinite, ends)):
            ax.plot(
                [f.setting[x] for f in order], ends, color=REFUTED, linestyle=REFUTED_DASHES[series], label=told
            )
            told = None


def legend(figure: Figure) -> None:
    """Explain lines and intervals, in the same words and at the same place of every figure.

    It stands below the panels. Each panel's own legend names its series only.
    """
    line = Line2D([], [], color=INK)
    dot = Line2D([], [], color=INK, marker=MARKERS[0], markersize=3.5, markerfacecolor="white", linestyle="none")
    interval = ErrorbarContainer((dot, (), (LineCollection([], colors=INK),)), has_yerr=True)
    handles: list[Any] = [line, interval]
    ranges = [shade for ax in figure.axes for shade in ax.collections if shade.get_label() == RANGE]
    predicted = "line: predicted" + (" (two lines and a shade: a range)" if ranges else "")
    figure.legend(handles, [predicted, "interval: measured"], loc="outside lower left", ncols=2)


def draw_cells(ax: Axes, findings: Findings, row: str, column: str, *, digits: int = 2) -> None:
    """What was measured, as a heat map over two fields of the setting, with the numbers in the cells."""
    rows, columns = series_of(findings, row), series_of(findings, column)
    measured = {(f.setting[row], f.setting[column]): f.measured.centre for f in findings}
    cells = [[measured[r, c] for c in columns] for r in rows]
    ax.imshow(cells, vmin=min(0.0, *measured.values()), vmax=max(measured.values()), aspect="auto")
    top = max(measured.values())
    for i, line in enumerate(cells):
        for j, value in enumerate(line):
            # Dark cells of cividis are below the middle of the scale.
            colour = "white" if value < top / 2 else "black"
            ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(len(columns)), [str(c) for c in columns])
    ax.set_yticks(range(len(rows)), [str(r) for r in rows])
    ax.grid(visible=False)


def save(
    draw: Callable[[], Figure], paths: Sequence[Path], metadata: Mapping[str, dict[str, Any]] = METADATA
) -> None:
    """Draw in this style and write the figure to every path, the same bytes on every run.

    Args:
        paths: ending in .svg or .png.
        metadata: of the files, by their ends.
    """
    with matplotlib.rc_context(SETTINGS):
        figure = draw()
        _show_what_is_no_formula(figure)
        # Laid out once: every file would do it again, and it takes as long as to draw.
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        figure.set_layout_engine(None)
        _keep_lines(figure)
        for path in paths:
            figure.savefig(path, format=path.suffix[1:], metadata=metadata[path.suffix])


def _show_what_is_no_formula(figure: Figure) -> None:
    """Show text between dollars as it is written if it is no formula. Control characters are written out."""
    parser = MathTextParser("path")
    for each in figure.findobj(Text):
        assert isinstance(each, Text)
        words = each.get_text()
        if (shown := visible(words)) != words:
            each.set_text(shown)
        if shown.replace(r"\$", "").count("$") < 2:
            continue
        try:
            for line in shown.splitlines():
                parser.parse(line)
        except ValueError:
            each.set_parse_math(False)


def _keep_lines(figure: Figure) -> None:
    """Keep the lines of wrapped text. Each file would break it again, and measure each of its beginnings."""
    for each in figure.texts:
        # No public function breaks lines.
        each.set_text(each._get_wrapped_text())  # pyright: ignore[reportAttributeAccessIssue]
        each.set_wrap(False)


def write(draw: Callable[[], Figure], path: Path) -> None:
    """Draw in this style into one file, which is whole or absent.

    Raises:
        ValueError: if the path ends neither in .svg nor in .png, or nothing can be written there.
    """
    refuse_path(path)
    with files.replacing(path) as temporary:
        save(draw, [temporary], ALONE)


def refuse_path(path: Path, *read: Path | None) -> None:
    """Refuse a file that `write` could not write, or that is read. Call it before anything is measured.

    Raises:
        ValueError: if the path ends neither in .svg nor in .png, or nothing can be written there.
    """
    if path.suffix not in METADATA:
        raise ValueError(f"a figure is written as .svg or .png, not as {path.name!r}")
    files.refuse_unwritable(path, *read, form=files.Form.FIGURE)


def series_of(findings: Findings, field: str) -> Sequence[Any]:
    """The distinct values of one field of the settings, in order of first appearance."""
    return list(dict.fromkeys(findings.values(field)))
