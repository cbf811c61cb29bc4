"""Pictures of the museum. Imports matplotlib: import this module where a picture is drawn."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.catalogue import cells, columns
from attnlab_theory.museum.exhibit import Exhibit
from attnlab_theory.museum.trial import Evidence
from attnlab_theory.plurals import several
from attnlab_theory.report import style

CLIP = (-3.0, 9.0)
"""The longest bar of the evidence, in powers of ten. Longer ones are cut."""


def write_bug(bug: Bug, found: Sequence[Evidence], out: Path) -> list[Path]:
    """The picture of one bug, as SVG and PNG.

    Raises:
        ValueError: if there is no such folder, or it cannot be written.
    """
    shown = bug.exhibit()
    return _write(lambda: _bug_figure(bug, shown, found), out, bug.name)


def write_matrix(found: Sequence[Evidence], out: Path) -> list[Path]:
    """The kill matrix, as SVG and PNG.

    Raises:
        ValueError: if there is no such folder, or it cannot be written.
    """
    return _write(lambda: _matrix_figure(found), out, "kill_matrix")


def _write(draw, out: Path, name: str) -> list[Path]:
    paths = [out / f"{name}.svg", out / f"{name}.png"]
    for path in paths:
        style.write(draw, path)
    return paths


def _bug_figure(bug: Bug, shown: Exhibit, found: Sequence[Evidence]) -> Figure:
    matrices = shown.over is None
    caught = sum(e.caught for e in found)
    title = f"{bug.name}: caught by {caught} of {several(len(found), 'check')} it was planted under"
    height = max(3.9, 1.6 + 0.27 * len(found))
    figure = Figure(figsize=(12.5, height))
    figure.set_layout_engine("constrained", w_pad=0.12)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    widths = (1.0, 1.0, 1.25) if matrices else (2.0, 1.25)
    axes = list(figure.subplots(1, len(widths), width_ratios=widths))
    if matrices:
        _draw_matrices(figure, axes[0], axes[1], shown)
    else:
        _draw_curves(axes[0], shown)
    _draw_evidence(axes[-1], found)
    return figure


def _draw_matrices(figure: Figure, left: Axes, right: Axes, shown: Exhibit) -> None:
    pair = [np.asarray(x, np.float64) for x in (shown.right, shown.wrong)]
    low, high = (float(f([f(x) for x in pair])) for f in (np.min, np.max))
    images = [
        ax.imshow(matrix, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        for ax, matrix in zip((left, right), pair, strict=True)
    ]
    for ax, matrix, name in zip((left, right), pair, ("as it should be", "with the bug"), strict=True):
        ax.set_title(name)
        ax.set_xlabel(shown.columns)
        ax.grid(visible=False)
        for setter, size in ((ax.set_xticks, matrix.shape[1]), (ax.set_yticks, matrix.shape[0])):
            setter(range(0, size, max(1, size // 6)))
    left.set_ylabel(shown.rows)
    bar = figure.colorbar(images[0], ax=[left, right], location="bottom", fraction=0.06, aspect=40)
    bar.set_label(shown.title, fontsize=9)


def _draw_curves(ax: Axes, shown: Exhibit) -> None:
    assert shown.over is not None
    for series, (values, name) in enumerate(((shown.right, "as it should be"), (shown.wrong, "with the bug"))):
        ax.plot(
            shown.over, values, label=name, color=style.COLOURS[series], linestyle=style.DASHES[series], marker=""
        )
    ax.set_title("\n".join(textwrap.wrap(shown.title, 66)))
    ax.set_xlabel(shown.columns)
    ax.set_ylabel(shown.rows)
    ax.legend()


def _draw_evidence(ax: Axes, found: Sequence[Evidence]) -> None:
    """How many times its allowance each check found; a bar left of one means that the check passed."""
    low, high = CLIP
    for row, evidence in enumerate(found):
        reach = _overstepped(evidence)
        face = style.COLOURS[1] if evidence.caught else "white"
        ax.barh(row, reach - low, left=low, color=face, edgecolor=style.COLOURS[1], height=0.62)
        if reach >= high:
            ax.text(high - 0.1, row, "more", ha="right", va="center", fontsize=7.5, color="white")
    ax.axvline(0, color="black", linewidth=1.2)
    ax.set_xlim(low, high)
    ax.set_ylim(max(len(found), 4) - 0.4, -0.6)
    ax.set_yticks(range(len(found)), ["\n".join(textwrap.wrap(e.check, 34)) for e in found], fontsize=8)
    ax.set_xlabel("deviation over what is allowed, log10\n(filled: caught)")
    ax.set_title("the evidence")
    ax.grid(visible=False, axis="y")


def _overstepped(evidence: Evidence) -> float:
    """log10 of deviation over allowance, clipped. For a claim: of distance over half-width."""
    low, high = CLIP
    if evidence.margin <= 0:
        return high if evidence.caught else low + 0.1
    return min(high, max(low + 0.1, math.log10(max(evidence.deviation, 1e-300) / evidence.margin)))


def _matrix_figure(found: Sequence[Evidence]) -> Figure:
    rows, heads = cells(found), columns(found)
    height, width = 0.235 * len(rows) + 2.9, 0.3 * len(heads) + 4.2
    caught = sum(any(row.values()) for row in rows.values())
    title = f"{caught} of {len(rows)} bugs are caught; every check catches at least one"
    if caught < len(rows) or any(not any(row.get(head) for row in rows.values()) for head in heads):
        title = f"{caught} of {len(rows)} bugs are caught"
    figure, (ax,) = style.panels(title, size=(width, height))
    for i, row in enumerate(rows.values()):
        for j, head in enumerate(heads):
            if head in row:
                face = style.COLOURS[0] if row[head] else "white"
                ax.plot(j, i, "o", color=style.COLOURS[0], markerfacecolor=face, markersize=7)
    ax.set_xticks(range(len(heads)), heads, rotation=55, ha="left", rotation_mode="anchor", fontsize=8)
    ax.set_yticks(range(len(rows)), list(rows), fontsize=8)
    ax.xaxis.tick_top()
    ax.set_xlim(-0.7, len(heads) - 0.3)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(length=0)
    ax.set_xlabel("filled: caught; empty: planted and not seen; nothing: does not apply")
    return figure
