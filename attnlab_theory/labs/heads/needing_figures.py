"""Pictures of what is lost without heads. Imports matplotlib: import this module where one is drawn."""

from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import SPARED
from attnlab_theory.labs.heads.grids import LEGEND, grid, shape_of, size_of, verdicts_of
from attnlab_theory.labs.plots import bars, interval
from attnlab_theory.report import style


def ablations(estimates: Estimates, findings: Findings) -> Figure:
    """What is lost without each head; one can be spared that costs at most `SPARED` of the accuracy."""
    lost, moved = estimates.of("accuracy lost"), estimates.of("log-odds moved")
    needed, spared = findings.of("the-head-is-needed"), findings.of("the-model-does-without-the-head")
    (own,) = estimates.of("accuracy")
    shape = shape_of(moved)
    title = (
        f"Of {len(lost)} heads {_supported(needed)} are shown to be needed for the accuracy of {own.value:.1%}, "
        f"and {_supported(spared)} can be spared"
    )
    figure, axes = style.panels(title, 2, 2, size=size_of(shape, 2, 2))
    for ax, found, verdicts, told in (
        (axes[0], lost, needed, "accuracy lost: is the head needed?"),
        (axes[1], lost, spared, f"accuracy lost: at most {SPARED:.0%}?"),
        (axes[2], moved, None, "log-odds moved, mean over sentences"),
        (axes[3], estimates.of("mcnemar p"), None, "p-value of McNemar's test, of each head alone"),
    ):
        grid(ax, found, shape, verdicts_of(verdicts) if verdicts else {})
        ax.set_title(told)
    figure.supxlabel(LEGEND, x=0.01, ha="left", fontsize=9, color=style.INK)
    return figure


def pairs(estimates: Estimates, findings: Findings) -> Figure:
    """What is lost without both of two heads that are hardly missed alone."""
    beyond = estimates.of("log-odds lost beyond the sum")
    found = findings.of("redundant-heads-stand-in-for-each-other")
    title = (
        f"{_supported(found)} of {len(found)} pairs of the least needed heads are shown to stand in for each other"
    )
    figure, (ax,) = style.panels(title, size=(8.4, 4.2))
    bars(ax, beyond, range(len(beyond)), series=0)
    ax.axhline(0, color=style.INK, linestyle="--", linewidth=1)
    names = [f"{e.setting['first']}, {e.setting['second']}" for e in beyond]
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    ax.set(xlabel="layer.head of both", ylabel="log-odds lost beyond the sum")
    note = f"on the sentences that did not choose the pairs; {interval(beyond[0], 'max-t')}"
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=style.INK)
    return figure


def _supported(findings: Findings) -> int:
    return sum(f.verdict == Verdict.SUPPORTED for f in findings)
