"""Pictures of approximated heads. Imports matplotlib: import this module where one is drawn."""

import numpy as np
from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import JUDGED_FEATURES, JUDGED_KEYS, TOLERATED
from attnlab_theory.labs.heads.grids import LEGEND, grid, shape_of, size_of, verdicts_of
from attnlab_theory.labs.heads.losses import COUPLINGS, LENGTHS
from attnlab_theory.labs.plots import bars, interval, level
from attnlab_theory.report import style


def survival(estimates: Estimates, findings: Findings) -> Figure:
    """The error of every head at the budget at which it is judged, and its least rank."""
    found = findings.of("the-head-survives")
    shown = list(dict.fromkeys((f.setting["approximation"], f.setting["budget"]) for f in found))
    survive = sum(f.verdict == Verdict.SUPPORTED for f in found)
    title = (
        f"Of {len(found)} heads and approximations {survive} keep within {TOLERATED:.0%}: relative errors at "
        f"{JUDGED_FEATURES} features or {JUDGED_KEYS} keys"
    )
    columns, least = 3, estimates.of("least rank for a tenth")
    rows, shape = -(-(len(shown) + 1) // columns), shape_of(least)
    figure, axes = style.panels(title, rows, columns, size=size_of(shape, rows, columns))
    for ax in axes[len(shown) + 1 :]:
        ax.set_axis_off()
    for ax, (name, budget) in zip(axes, shown, strict=False):
        own = {"approximation": name, "budget": budget}
        grid(
            ax, estimates.of("relative error", **own), shape, verdicts_of(found.of(found[0].claim, **own)), top=1.0
        )
        ax.set_title(name)
    ax = axes[len(shown)]
    grid(ax, least, shape)
    ax.set_title("least rank for a tenth")
    figure.supxlabel(LEGEND, x=0.01, ha="left", fontsize=9, color=style.INK)
    return figure


def budgets(estimates: Estimates) -> Figure:
    """The mean error over heads by budget."""
    found = estimates.of("relative error, mean over heads")
    names = list(dict.fromkeys(e.setting["approximation"] for e in found))
    least = min(found, key=lambda e: e.value)
    title = (
        f"The least mean error is {least.value:.2g}: {least.setting['approximation']}, {least.setting['budget']}"
    )
    shown = {
        f"features, {coupling} projections": [name for name in names if name.endswith(f"features, {coupling}")]
        for coupling in COUPLINGS
    }
    shown["keys or mixtures of a query"] = [name for name in names if "features" not in name]
    shown = {told: chosen for told, chosen in shown.items() if chosen}
    figure, axes = style.panels(title, 1, len(shown), size=(4.2 * len(shown), 4.8))
    for ax, (told, chosen) in zip(axes, shown.items(), strict=True):
        for series, name in enumerate(chosen):
            own = found.of(found[0].quantity, approximation=name)
            xs = [e.setting["budget"] * 1.03 ** (series - len(chosen) / 2) for e in own]
            bars(ax, own, xs, series=series, label=name.partition(" features")[0], line=True)
        ax.axhline(TOLERATED, color=style.INK, linestyle="--", linewidth=1)
        ax.set_xscale("log", base=2)
        tried = sorted({e.setting["budget"] for e in found if e.setting["approximation"] in chosen})
        ax.set_xticks(tried, [f"{budget:,}" for budget in tried], fontsize=8)
        ax.minorticks_off()
        ax.set(xlabel=told, ylabel="relative error, mean over heads", ylim=(0, 1.02))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)
    note = f"dashed: what is tolerated; {interval(found[0], 'max-t')}"
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=style.INK)
    return figure


def ranks(estimates: Estimates) -> Figure:
    """Rows of a sketch for an error of a tenth, by length."""
    least = estimates.of("least rank for a tenth, by length")
    drawn = estimates.of("rank of a drawn sketch for a tenth, by length")
    title = (
        f"Outputs within a tenth take a rank of {np.mean([e.value for e in least]):.0f} at least, "
        f"a drawn sketch {np.mean([e.value for e in drawn]):,.0f}"
    )
    figure, axes = style.panels(title, 1, 2, size=(9.0, 4.2))
    for ax, own, told in (
        (axes[0], least, "least rank of any"),
        (axes[1], drawn, "rows of a drawn sketch, predicted"),
    ):
        for series, layer in enumerate(sorted({e.setting["layer"] for e in own})):
            chosen = Estimates(e for e in own if e.setting["layer"] == layer)
            xs = [LENGTHS.index(e.setting["tokens_from"]) + 0.06 * (series - 2.5) for e in chosen]
            bars(ax, chosen, xs, series=series, label=f"layer {layer}" if ax is axes[0] else None)
        held = [LENGTHS.index(length) for length in sorted({e.setting["tokens_from"] for e in own})]
        ax.set_xticks(held, [f"from {LENGTHS[at]}" for at in held])
        ax.set(xlabel="tokens of the sentence", ylabel=told)
    axes[1].set_yscale("log")
    figure.legend(
        loc="outside lower left", ncols=6, fontsize=8, title=interval(least[0], "max-t"), title_fontsize=8
    )
    return figure


def replaced(estimates: Estimates) -> Figure:
    """The accuracy with all heads replaced."""
    (own,) = estimates.of("accuracy")
    found = estimates.of("accuracy with all heads replaced")
    best = max(found, key=lambda e: e.value)
    title = f"With all heads replaced the accuracy of {own.value:.1%} becomes {best.value:.1%} at best"
    figure, (ax,) = style.panels(title, size=(7.6, 0.4 * len(found) + 1.6))
    for place, each in enumerate(found):
        ends = [[each.value - each.interval.low], [each.interval.high - each.value]]
        ax.errorbar(
            each.value, place, xerr=np.maximum(ends, 0), fmt="o", color=style.COLOURS[0], markerfacecolor="white"
        )
    ax.axvline(own.value, color=style.INK, linestyle="--", linewidth=1)
    ax.axvspan(own.interval.low, own.interval.high, color=style.INK, alpha=0.12, linewidth=0)
    labels = [f"{e.setting['approximation']}, {e.setting['budget']}" for e in found]
    ax.set_yticks(range(len(found)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="accuracy")
    note = f"dashed, shaded: the model as it is; interval: measured ({level(own)} for all together, Bonferroni)"
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=style.INK)
    return figure
