"""Pictures of what is lost without heads. Imports matplotlib: import this module where one is drawn."""

from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.drawing import bars, interval, note
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import SPARED
from attnlab_theory.labs.heads.grids import Panel, panels, shape_of
from attnlab_theory.report import style


def ablations(estimates: Estimates, findings: Findings) -> Figure:
    """What is lost without each head; one can be spared that costs at most `SPARED` of the accuracy."""
    lost, moved = estimates.of("accuracy lost"), estimates.of("log-odds moved")
    needed, spared = findings.of("the-head-is-needed"), findings.of("the-model-does-without-the-head")
    (own,) = estimates.of("accuracy")
    title = (
        f"Of {len(lost)} heads {_supported(needed)} are shown to be needed for the accuracy of {own.value:.1%}, "
        f"and {_supported(spared)} can be spared"
    )
    shown = (
        Panel("accuracy lost: is the head needed?", lost, needed),
        Panel(f"accuracy lost: at most {SPARED:.0%}?", lost, spared),
        Panel("log-odds moved, mean over sentences", moved),
        Panel("p-value of McNemar's test, of each head alone", estimates.of("mcnemar p")),
    )
    return panels(title, 2, shape_of(moved), shown)


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
    note(figure, f"on the sentences that did not choose the pairs; {interval(beyond[0], 'max-t')}")
    return figure


def _supported(findings: Findings) -> int:
    return sum(f.verdict == Verdict.SUPPORTED for f in findings)
