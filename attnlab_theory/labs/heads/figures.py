"""Pictures of heads, layer by head. Imports matplotlib: import this module where one is drawn."""

import numpy as np
from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import NORMAL
from attnlab_theory.labs.heads.families import SHARE
from attnlab_theory.labs.heads.grids import CELLS, LEGEND, grid, shape_of, size_of, verdicts_of
from attnlab_theory.labs.heads.habits import QUANTITIES
from attnlab_theory.labs.plots import bars, interval
from attnlab_theory.report import style

PREMISES = (
    ("slope of the variance", None, "noisy length: slope of the variance, without a verdict"),
    ("variance explained by the stretch", "the-noisy-length-matters", "variance that the noisy length explains"),
    ("variance along own mean beyond that along others'", None, "excess along the own mean, without a verdict"),
    ("variance explained along own mean", None, "variance along the own mean, shared or not"),
    ("distance from normal", "scores-are-normal", "distance of scores from normal"),
    ("gamble index", None, "gamble index, where the text tells something"),
    ("weights explained by theory", "theory-beats-the-mean-weight", "weights that theory explains"),
    ("scores that move together", "keys-move-alone", "keys of a sentence that move together (+: no)"),
)
"""Panels: what is shown, the claim whose verdicts stand in the cells, and the title."""


def premises(estimates: Estimates, findings: Findings) -> Figure:
    """Where the homework's premises hold."""
    known = Estimates(e for e in estimates if e.interval != SHARE)
    shown = [panel for panel in PREMISES if _has(known, panel[0])]
    matters = _supported(findings, "the-noisy-length-matters")
    normal = _supported(findings, "scores-are-normal")
    title = f"Shown: a noisy length matters in {matters} heads, and scores are normal (to {NORMAL:g}) in {normal}"
    rows, shape = -(-len(shown) // 2), shape_of(estimates.of("share of keys"))
    figure, axes = style.panels(title, rows, 2, size=size_of(shape, rows, 2))
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    for ax, (quantity, claim, told) in zip(axes, shown, strict=False):
        verdicts = verdicts_of(findings.of(claim)) if claim else {}
        grid(ax, known.of(quantity), shape, verdicts)
        ax.set_title(told)
    figure.supxlabel(LEGEND, x=0.01, ha="left", fontsize=9, color=style.INK)
    return figure


def habits(estimates: Estimates) -> Figure:
    """How many keys heads use, and which."""
    shown = [quantity for quantity in QUANTITIES if quantity != "effective keys" and _has(estimates, quantity)]
    uses = [e.value for e in estimates.of("share of keys")]
    title = f"Heads use between {min(uses):.0%} and {max(uses):.0%} of the keys that they see"
    rows, shape = -(-len(shown) // 2), shape_of(estimates.of("share of keys"))
    figure, axes = style.panels(title, rows, 2, size=size_of(shape, rows, 2))
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    for ax, quantity in zip(axes, shown, strict=False):
        grid(ax, estimates.of(quantity), shape)
        ax.set_title(quantity)
    figure.supxlabel(CELLS, x=0.01, ha="left", fontsize=9, color=style.INK)
    return figure


def bluntness(estimates: Estimates) -> Figure:
    """The largest weight of a row by its length, beside the bound that the spread of scores gives."""
    top, bound = estimates.of("largest weight"), estimates.of("bound on the largest weight")
    near = [e.value for e in estimates.of("largest weight over its bound")]
    title = f"The median head reaches {np.median(near):.0%} of the sharpness that its scores allow"
    figure, (ax,) = style.panels(title, size=(7.0, 4.2))
    for series, layer in enumerate(sorted({e.setting["layer"] for e in top})):
        own = Estimates(e for e in top if e.setting["layer"] == layer)
        xs = [e.setting["keys_from"] * (1 + 0.02 * series) for e in own]
        bars(ax, own, xs, series=series, label=f"layer {layer}", line=True)
        allowed = [e for e in bound if e.setting["layer"] == layer]
        ax.plot(
            [e.setting["keys_from"] for e in allowed],
            [e.value for e in allowed],
            color=style.COLOURS[series % 7],
            linewidth=0.8,
            alpha=0.6,
        )
    ax.set_xscale("log", base=2)
    ax.set(xlabel="keys that a query sees, from", ylabel="largest weight, mean over heads", ylim=(0, 1.02))
    told = f"thin line: bound by the spread of scores; {interval(top[0], 'max-t')}"
    figure.legend(loc="outside lower left", ncols=4, fontsize=8, title=told, title_fontsize=8)
    return figure


def hedging(estimates: Estimates, findings: Findings) -> Figure:
    """The gamble of a layer's mean, beside what copies of its heads would gamble."""
    mean, alike = estimates.of("gamble index of the mean"), estimates.of("gamble index of one head's copies")
    said = _supported(findings, "the-layer-hedges")
    figure, (ax,) = style.panels(f"Shown to hedge: {said} layers", size=(6.8, 4.0))
    for series, (found, label) in enumerate(((mean, "mean of the heads"), (alike, "copies of one head"))):
        bars(ax, found, [e.setting["layer"] + 0.12 * series - 0.06 for e in found], series=series, label=label)
    for half in alike:
        ends = [half.setting["layer"] - 0.2, half.setting["layer"] + 0.2]
        label = "half of the copies': the margin" if half is alike[0] else None
        ax.plot(ends, [half.value / 2] * 2, color=style.INK, linestyle="--", linewidth=1, label=label)
    ax.set_xticks([e.setting["layer"] for e in mean])
    ax.set(xlabel="layer", ylabel="gamble index")
    figure.legend(loc="outside lower left", ncols=3, fontsize=8, title=interval(mean[0], "max-t"), title_fontsize=8)
    return figure


def calibration(estimates: Estimates) -> Figure:
    """Weights of frequent words as theory predicts them, and as they are."""
    curve = estimates.of("mean weight by prediction")
    explained = np.median([e.value for e in estimates.of("weights explained by theory")])
    by_type = np.median([e.value for e in estimates.of("weights explained by the type")])
    without = np.median([e.value for e in estimates.of("weights explained without noise")])
    title = (
        f"Theory explains {explained:.0%} of the weights of frequent words,\n"
        f"without noise {without:.0%}, a type's mean weight {by_type:.0%} (medians over heads)"
    )
    figure, (ax,) = style.panels(title, size=(5.8, 5.2))
    top = 1.05 * max(max(e.setting["predicted"], e.value) for e in curve)
    ax.plot([0, top], [0, top], color=style.INK, linewidth=1, label="line: predicted")
    for series, layer in enumerate(sorted({e.setting["layer"] for e in curve})):
        own = Estimates(e for e in curve if e.setting["layer"] == layer)
        bars(ax, own, [e.setting["predicted"] for e in own], series=series, label=f"layer {layer}", line=True)
    ax.set(xlabel="predicted mean weight, tenths of the keys", ylabel="mean weight")
    figure.legend(
        loc="outside lower left", ncols=4, fontsize=8, title=interval(curve[0], "max-t"), title_fontsize=8
    )
    return figure


def _has(estimates: Estimates, quantity: str) -> bool:
    return any(e.quantity == quantity for e in estimates)


def _supported(findings: Findings, claim: str) -> str:
    found = findings.of(claim)
    return f"{sum(f.verdict == Verdict.SUPPORTED for f in found)} of {len(found)}"
