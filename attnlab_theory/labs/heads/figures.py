"""Pictures of heads. Imports matplotlib: import this module where one is drawn."""

import numpy as np
from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import EXPLAINED, JUDGED_FEATURES, JUDGED_KEYS, NORMAL, SPARED, TOLERATED
from attnlab_theory.labs.heads.families import SHARE
from attnlab_theory.labs.heads.grids import Panel, panels, shape_of
from attnlab_theory.labs.heads.habits import QUANTITIES
from attnlab_theory.labs.heads.losses import COUPLINGS, LENGTHS
from attnlab_theory.labs.heads.traces import Kept
from attnlab_theory.labs.plots import bars, below, interval, level, note
from attnlab_theory.report import style

KNOWN = 0.1
"""A panel is drawn if at least this share of the heads has a number."""

PREMISES = (
    ("slope of the variance", None, "Variance rises with the squared mean score\n(colour: slope; no verdict)"),
    (
        "variance explained by the stretch",
        "the-noisy-length-matters",
        f"A noisy length explains {EXPLAINED:.0%} of the variance\n(colour: what it explains)",
    ),
    (
        "variance along own mean beyond that along others'",
        None,
        "Keys vary more along their own type's mean\n(colour: extra variance; no verdict)",
    ),
    ("variance explained along own mean", None, "Share of variance along the type's mean\n(no verdict)"),
    ("distance from normal", "scores-are-normal", f"Scores are at most {NORMAL:g} from normal\n(colour: distance)"),
    ("gamble index", None, "How much heads gamble, from 0 to 1\n(hatched: too few pairs of similar keys)"),
    (
        "weights explained by theory",
        "theory-beats-the-mean-weight",
        "Theory predicts weights better than their mean\n(colour: share explained)",
    ),
    ("scores that move together", "keys-move-alone", "Keys of a sentence are independent\n(colour: covariance)"),
)
"""Panels: what is shown, the claim whose verdicts stand in the cells, and the title."""


def premises(estimates: Estimates, findings: Findings) -> Figure:
    """Where the homework's premises hold."""
    known = Estimates(e for e in estimates if e.interval != SHARE)
    matters = _shown(findings, "the-noisy-length-matters")
    normal = findings.of("scores-are-normal")
    title = (
        f"A noisy key length explains at least a tenth of the scores' variance in {matters} heads;\n"
        f"normal scores: {_supported(normal)} supported, {_refuted(normal)} refuted, the rest undecided"
    )
    shown = [
        Panel(told, known.of(quantity), findings.of(claim) if claim else Findings())
        for quantity, claim, told in PREMISES
        if len([e for e in known if e.quantity == quantity]) >= KNOWN * len(normal)
    ]
    return panels(title, 2, shape_of(estimates.of("share of keys")), shown)


def habits(estimates: Estimates) -> Figure:
    """How many keys heads use, and which."""
    shown = [quantity for quantity in QUANTITIES if quantity != "effective keys" and _has(estimates, quantity)]
    uses = [e.value for e in estimates.of("share of keys")]
    title = f"Heads use between {min(uses):.0%} and {max(uses):.0%} of the keys that they see"
    shape, grids = shape_of(estimates.of("share of keys")), [Panel(each, estimates.of(each)) for each in shown]
    return panels(title, 2, shape, grids)


def bluntness(estimates: Estimates) -> Figure:
    """The largest weight of a row by its length, beside the bound that the spread of scores gives."""
    top, bound = estimates.of("largest weight"), estimates.of("bound on the largest weight")
    near = [e.value for e in estimates.of("largest weight over its bound")]
    title = f"The median head's largest weight is {np.median(near):.0%} of the most that its scores' spread allows"
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
    below(figure, ncols=4, title=told)
    return figure


def hedging(estimates: Estimates, findings: Findings) -> Figure:
    """The gamble of a layer's mean, beside what copies of its heads would gamble."""
    mean, alike = estimates.of("gamble index of the mean"), estimates.of("gamble index of one head's copies")
    said = _shown(findings, "the-layer-hedges")
    title = f"{said.replace('of', 'of the')} layers with enough near-tied pairs are shown to hedge"
    figure, (ax,) = style.panels(title, size=(6.8, 4.0))
    for series, (found, label) in enumerate(((mean, "mean of the heads"), (alike, "copies of one head"))):
        bars(ax, found, [e.setting["layer"] + 0.12 * series - 0.06 for e in found], series=series, label=label)
    for half in alike:
        ends = [half.setting["layer"] - 0.2, half.setting["layer"] + 0.2]
        label = "margin: half of the copies' index" if half is alike[0] else None
        ax.plot(ends, [half.value / 2] * 2, color=style.INK, linestyle="--", linewidth=1, label=label)
    ax.set_xticks([e.setting["layer"] for e in mean])
    ax.set(xlabel="layer", ylabel="gamble index")
    below(figure, ncols=3, title=interval(mean[0], "max-t"))
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
    below(figure, ncols=4, title=interval(curve[0], "max-t"))
    return figure


def collapse(estimates: Estimates) -> Figure:
    """One line for each way to take layers apart."""
    by_depth = estimates.of("distance to rank one")
    left = {e.setting["kept"]: e.value for e in estimates.of("share of the distance left")}
    title = (
        f"Attention alone leaves {left[Kept.ATTENTION]:.2g} of the tokens' distance, "
        f"the whole model {left[Kept.ALL]:.2g}"
    )
    figure, (ax,) = style.panels(title, size=(6.8, 4.4))
    for series, kept in enumerate(Kept):
        own = by_depth.of("distance to rank one", kept=kept)
        # Beside each other: one would hide another.
        xs = [e.setting["depth"] + 0.08 * (series - 1.5) for e in own]
        bars(ax, own, xs, series=series, label=str(kept), line=True)
    ax.set_yscale("log")
    ax.set_xticks(sorted({e.setting["depth"] for e in by_depth}))
    ax.set(xlabel="layers passed", ylabel="relative distance to rank one")
    told = f"what is kept of the layers; {interval(by_depth[0], 'max-t')}"
    below(figure, ncols=4, title=told)
    return figure


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
        Panel("the head is needed; shade: accuracy lost", lost, needed),
        Panel(f"it costs {SPARED:.0%} at most; shade: accuracy lost", lost, spared),
        Panel("log-odds moved, mean over sentences", moved),
        Panel("p-value of McNemar's test", estimates.of("mcnemar p")),
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


def survival(estimates: Estimates, findings: Findings) -> Figure:
    """The error of every head at the budget at which it is judged, and its least rank."""
    found = findings.of("the-head-survives")
    shown = list(dict.fromkeys((f.setting["approximation"], f.setting["budget"]) for f in found))
    title = (
        f"{_supported(found)} of {len(found)} heads and approximations err by at most {TOLERATED:.0%}, "
        f"at {JUDGED_FEATURES} features or {JUDGED_KEYS} keys"
    )
    least = estimates.of("least rank for a tenth")
    grids = [
        Panel(own["approximation"], estimates.of("relative error", **own), found.of(found[0].claim, **own), 1.0)
        for name, budget in shown
        for own in [{"approximation": name, "budget": budget}]
    ]
    return panels(title, 3, shape_of(least), [*grids, Panel("least rank for a tenth", least)])


def budgets(estimates: Estimates) -> Figure:
    """The mean error over heads by budget."""
    found = estimates.of("relative error, mean over heads")
    names = list(dict.fromkeys(e.setting["approximation"] for e in found))
    least = min(found, key=lambda e: e.value)
    title = f"{least.setting['approximation']} with {least.setting['budget']} errs least, by {least.value:.2g}"
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
    note(figure, f"dashed: what is tolerated; {interval(found[0], 'max-t')}")
    return figure


def ranks(estimates: Estimates) -> Figure:
    """Rows of a sketch for an error of a tenth, by length."""
    least = estimates.of("least rank for a tenth, by length")
    drawn = estimates.of("rank of a drawn sketch for a tenth, by length")
    title = (
        f"An error of a tenth takes rank {np.mean([e.value for e in least]):.0f} at least, "
        f"and a drawn sketch {np.mean([e.value for e in drawn]):,.0f} rows"
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
    below(figure, ncols=6, title=interval(least[0], "max-t"))
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
    note(
        figure,
        f"dashed, shaded: the model as it is; interval: measured ({level(own)} for all together, Bonferroni)",
    )
    return figure


def _has(estimates: Estimates, quantity: str) -> bool:
    return any(e.quantity == quantity for e in estimates)


def _supported(found: Findings) -> int:
    return sum(f.verdict == Verdict.SUPPORTED for f in found)


def _refuted(found: Findings) -> int:
    return sum(f.verdict == Verdict.REFUTED for f in found)


def _shown(findings: Findings, claim: str) -> str:
    found = findings.of(claim)
    return f"{_supported(found)} of {len(found)}"
