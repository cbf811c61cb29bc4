"""Estimates in a picture. Imports matplotlib: import this module where something is drawn."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.report import style

LONGEST_LABEL = 24
"""Characters of a name below a point."""


def bars(
    ax: Axes,
    found: Estimates,
    xs: Sequence[float | int],
    *,
    series: int,
    label: str | None = None,
    line: bool = False,
) -> None:
    """Estimates with their intervals, which need not be centred on them.

    Args:
        ax: where to draw.
        found: what was measured.
        xs: where each of them stands.
        series: chooses marker and colour.
        label: for a legend.
        line: whether a line joins the estimates.
    """
    values = np.array([e.value for e in found])
    ends = np.array([(e.value - e.interval.low, e.interval.high - e.value) for e in found]).T
    ax.errorbar(
        xs,
        values,
        yerr=np.maximum(ends, 0),
        label=label,
        fmt=style.MARKERS[series % 7],
        color=style.COLOURS[series % 7],
        markerfacecolor="white",
        linestyle=style.DASHES[series % 7] if line else "",
        linewidth=1.2,
    )


def interval(estimate: Estimate, kind: str = "") -> str:
    """What a legend says of the intervals: the same words in all figures, their level, their kind."""
    return f"interval: measured ({', '.join(filter(None, (level(estimate), kind)))})"


def level(estimate: Estimate) -> str:
    """How often such intervals cover."""
    return f"{100 * (1 - estimate.error_rate):.10g}%"


def as_written(label: str) -> str:
    """A label without the meaning that matplotlib gives to dollars, and cut where it would cover its neighbours."""
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return short.replace("$", r"\$")


def in_percent(figure: Figure, ax: Axes) -> Figure:
    """The figure, with both axes of the panel in percent."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    return figure
