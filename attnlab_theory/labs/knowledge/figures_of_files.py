"""The picture of files of predictions. Imports matplotlib: import this module where one is drawn."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.labs.drawing import as_written, bars, interval
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge.accuracy import PUBLISHED
from attnlab_theory.report import style

PANEL = ": "
"""Between the name of a panel and the name of a file, in a label."""


def accuracy_of_files(estimates: Estimates, published: str | None = None) -> Figure:
    """The accuracy of each file of predictions with its interval, in their order.

    Where every label has the form "PANEL: NAME", there is one panel for each PANEL: what was trained in different
    ways stands side by side, not in one row.

    Args:
        estimates: from `predicted.scored`.
        published: the variant whose published range on the same questions is drawn behind.
    """
    found = estimates.of("accuracy")
    panels = _panels(found)
    title = f"{found[0].draws} questions answered right: {_said(panels)}"
    widths = [max(4.2 if len(panels) > 1 else 5.6, 0.9 * len(files) + 1.6) for files in panels.values()]
    figure, axes = style.panels(title, 1, len(panels), size=(sum(widths), 4.4))
    for ax, (panel, files) in zip(axes, panels.items(), strict=True):
        _draw(ax, panel, files, published)
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(-0.02 * top, top)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[0].set_ylabel("right answers")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=1, fontsize=8)
    return figure


def _panels(found: Estimates) -> dict[str, dict[str, Any]]:
    """The estimates by panel and name. Unless every label names a panel, there is one panel without a name."""
    labels = [e.setting["label"] for e in found]
    split = [label.split(PANEL, 1) for label in labels]
    if not all(len(parts) == 2 and all(map(str.strip, parts)) for parts in split):
        split = [["", label] for label in labels]
    panels: dict[str, dict[str, Any]] = {}
    for (panel, name), estimate in zip(split, found, strict=True):
        panels.setdefault(panel, {})[name] = estimate
    return panels


def _said(panels: dict[str, dict[str, Any]]) -> str:
    """What the title says: the last of every panel, or the first and the last of a single one."""
    told = []
    for panel, files in panels.items():
        rows = [(", ".join(filter(None, map(as_written, (panel, name)))), e) for name, e in files.items()]
        told += rows[-1:] if len(panels) > 1 else rows[:1] + rows[1:][-1:]
    return ", ".join(f"{e.value:.1%} ({name})" for name, e in told)


def _draw(ax: Axes, panel: str, files: dict[str, Any], published: str | None) -> None:
    if published:
        range_of = PUBLISHED[published]
        highest = " (the highest told in a README)" if range_of.told else ""
        label = f"published, {published}: median of {range_of.models} models, and range{highest}"
        ax.axhspan(range_of.lowest, range_of.highest, color="#e6e6e6", linewidth=0, label=label)
        ax.axhline(range_of.median, color="#555555", linewidth=1.2)
    found, labels = Estimates(files.values()), [*map(as_written, files)]
    places = [float(x) for x in range(len(found))]
    bars(ax, found, places, series=0, label=interval(found[0], "Clopper-Pearson"))
    crowded = max(map(len, labels)) * len(labels) > 60
    ax.set_xticks(places, labels, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    ax.grid(visible=False, axis="x")
    ax.set(xlim=(-0.5, len(found) - 0.5), title=as_written(panel))
