"""Plots of estimates. Imports matplotlib: import this module where something is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.claims import Instead, Paired, Statement
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.report import style

LONGEST_LABEL = 24
"""The most characters of a name below a point."""


def look(series: int, **others: Any) -> dict[str, Any]:
    """Colour, dash and marker of a series, different for each of the first seven, and other keyword arguments."""
    own = {"color": style.COLOURS[series % 7], "linestyle": style.DASHES[series % 7]}
    return {**own, "marker": style.MARKERS[series % 7], "markerfacecolor": "white", **others}


def note(figure: Figure, words: str, *, fontsize: int = 8) -> None:
    """A line at the lower edge that says what is seen."""
    figure.supxlabel(words, x=0.01, ha="left", fontsize=fontsize, color=style.INK)


def bars(
    ax: Axes,
    found: Estimates,
    xs: Sequence[float | int],
    *,
    series: int,
    label: str | None = None,
    line: bool = False,
) -> None:
    """Draw estimates with their intervals. An interval need not be centred on its estimate.

    Args:
        ax: where to draw.
        found: the estimates.
        xs: the place of each on the x axis.
        series: chooses marker and colour.
        label: for a legend.
        line: whether a line joins the estimates.
    """
    values = np.array([e.value for e in found])
    ends = np.array([(e.value - e.interval.low, e.interval.high - e.value) for e in found]).T
    joined = {} if line else {"linestyle": ""}
    ax.errorbar(xs, values, yerr=np.maximum(ends, 0), label=label, **look(series, linewidth=1.2, **joined))


def control(ax: Axes, reached: float, what: str, *, across: Sequence[float] = (), **look: Any) -> None:
    """A line at what a control reaches, without having learned what the points are about. One of them is labelled.

    Args:
        ax: where to draw.
        reached: the level.
        what: the control. The legend names it once, for all lines of a panel.
        across: the ends of the line; by default it crosses the panel.
        look: keyword arguments of the line, in the place of its own.
    """
    known = {line.get_label() for line in ax.lines}
    own = {"color": style.INK, "linewidth": 1.2, "linestyle": ":", "label": None if what in known else what, **look}
    if across:
        ax.plot(across, [reached, reached], **own)
    else:
        ax.axhline(reached, **own)


def far_control(ax: Axes, reached: float, what: str) -> None:
    """The same where the level may lie far beyond the scale: the scale stays, and the legend tells the level."""
    low, high = ax.get_ylim()
    control(ax, reached, what if low <= reached <= high else f"{what}: {reached:.2f}, beyond the scale")
    ax.set_ylim(low, high)


def controls(ax: Axes, statements: Sequence[Statement], shown: Estimates, every: Estimates) -> None:
    """Lines at the controls of all statements that judge numbers of a panel.

    A control has the number 0 where the panel shows differences from it, or a number of its own. One that is told
    by another number of the run has no line here.

    Args:
        ax: where the numbers are drawn.
        statements: of the lab.
        shown: the numbers.
        every: all numbers of the run.
    """
    for each in shown:
        for stated in statements:
            if stated.asks(each) and stated.predicts(each, every) is not None:
                own = stated.of_control(each, every)
                if isinstance(stated.control, Paired):
                    control(ax, 0.0, stated.control.what)
                elif own is not None and isinstance(stated.control, Instead):
                    control(ax, own.centre, stated.control.what)


def control_of(statements: Sequence[Statement], quantity: str) -> str:
    """The control with which one quantity is paired. All statements about it have the same one."""
    (what,) = {
        each.control.what for each in statements if each.quantity == quantity and isinstance(each.control, Paired)
    }
    return what


def named(ax: Axes, labels: Sequence[str], **look: Any) -> None:
    """Names below places 0, 1 and so on, without lines that would go up from them."""
    ax.set_xticks(range(len(labels)), labels, **look)
    ax.grid(visible=False, axis="x")


def below(figure: Figure, *, ncols: int = 1, title: str | None = None) -> None:
    """A legend below all panels, of all that has a label."""
    size = {} if title is None else {"title": title, "title_fontsize": 8}
    figure.legend(loc="outside lower left", ncols=ncols, fontsize=8, alignment="left", **size)


def interval(estimate: Estimate, kind: str = "") -> str:
    """The words of a legend about intervals, the same in all figures: their level and their kind."""
    return f"interval: measured ({', '.join(filter(None, (level(estimate), kind)))})"


def level(estimate: Estimate) -> str:
    """The coverage of such intervals, in percent."""
    return f"{100 * (1 - estimate.error_rate):.10g}%"


def as_written(label: str) -> str:
    """A label in which dollars mean nothing to matplotlib, cut if it would cover its neighbours."""
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return short.replace("$", r"\$")


def in_percent(figure: Figure, ax: Axes) -> Figure:
    """The figure, with both axes of the panel in percent."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    return figure
