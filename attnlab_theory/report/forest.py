"""The figure for claims that have none of their own. Each finding is a row: measured beside predicted."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.report import style

ROW = 0.32
"""Height of a finding, in inches."""

SHOWN = 40
"""The most rows of one claim. Nobody would read more."""


def draw(findings: Findings) -> Figure:
    """One panel for each claim; at most `SHOWN` of its settings."""
    names = list(dict.fromkeys(f.claim for f in findings))
    shown = [Findings(list(findings.of(name))[:SHOWN]) for name in names]
    heights = [len(each) + 2.6 for each in shown]
    figure, axes = style.panels(
        "Each claim's prediction stands beside what was measured",
        len(names),
        1,
        size=(8.0, 0.7 + ROW * sum(heights)),
        heights=heights,
    )
    for ax, name, each in zip(axes, names, shown, strict=True):
        _draw_claim(ax, each)
        left_out = len(findings.of(name)) - len(each)
        foil = " (a foil: wrong on purpose)" if each[0].expect == Verdict.REFUTED else ""
        ax.set_title(name + foil + (f" (the first {SHOWN} of {SHOWN + left_out} settings)" if left_out else ""))
    style.legend(figure)
    return figure


def _draw_claim(ax: Axes, findings: Findings) -> None:
    for row, finding in enumerate(findings):
        low, high = finding.predicted.low, finding.predicted.high
        for end in dict.fromkeys((low, high)):
            if math.isfinite(end):
                ax.plot([end, end], [row - 0.4, row + 0.4], color=style.COLOURS[0])
        ax.errorbar(
            [finding.measured.centre],
            [row],
            xerr=[finding.measured.width / 2],
            fmt="o",
            color=style.COLOURS[1],
            markerfacecolor="white",
        )
        ax.text(1.01, row, finding.verdict, transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.set_yticks(range(len(findings)), [_told(finding) for finding in findings])
    ax.set_ylim(len(findings) - 0.4, -0.6)
    if any(f.verdict == Verdict.INCONCLUSIVE for f in findings):
        ax.margins(x=0.1)


def _told(finding: Finding) -> str:
    return ", ".join(f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in finding.setting.items())
