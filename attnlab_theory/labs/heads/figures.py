"""Pictures of heads. Imports matplotlib: import this module where one is drawn."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.claims import Findings
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import habits as habits_of
from attnlab_theory.labs.heads.claims import (
    BEYOND_LENGTH,
    CONTROLS,
    EXPLAINED,
    JUDGED_FEATURES,
    JUDGED_KEYS,
    SPARED,
    STATEMENTS,
    TOLERATED,
    beyond,
    from_the_side_of,
)
from attnlab_theory.labs.heads.families import SHARE
from attnlab_theory.labs.heads.grids import Panel, medians, panels, shape_of, supported, tallied
from attnlab_theory.labs.heads.habits import QUANTITIES
from attnlab_theory.labs.heads.losses import COUPLINGS, LENGTHS
from attnlab_theory.labs.heads.questions import HABITS, LEFT, PREMISES, unit
from attnlab_theory.labs.heads.traces import Kept
from attnlab_theory.labs.plots import bars, below, control, interval, level, note
from attnlab_theory.report import style
from attnlab_theory.stats import Interval

STATED = {each.name: each for each in STATEMENTS}

BASELINE = "the best baseline of a head, which knows length, positions or the word"

KNOWN = 0.1
"""A panel is drawn if at least this share of the heads has a number."""


def premises(estimates: Estimates, findings: Findings) -> Figure:
    """Where the homework's premises hold."""
    known = Estimates(e for e in estimates if e.interval != SHARE)
    matters, normal = findings.of("the-noisy-length-matters"), findings.of("scores-are-normal")
    title = (
        "Beyond what all words share, noise in the norm of keys explains at least\n"
        f"{EXPLAINED:.0%} of the variance of a word's scores: {tallied(matters, 'head')}.\n"
        f"A word's scores are nearly normally distributed: {tallied(normal, 'head')}"
    )
    shown = [
        Panel(
            told,
            known.of(quantity),
            findings.of(claim) if claim else Findings(),
            controls=_controls(estimates, claim, quantity),
        )
        for quantity, claim, told in PREMISES
        if len([e for e in known if e.quantity == quantity]) >= KNOWN * len(normal)
    ]
    told = "a word's scores: of one query, with the keys of this word in many sentences"
    return panels(title, 2, shape_of(estimates.of("share of keys")), shown, told=told)


def _controls(estimates: Estimates, claim: str | None, quantity: str) -> dict[str, float]:
    """What the controls of a claim reach. A gain over the best baseline is 0 for this baseline."""
    found = medians(estimates, STATED[claim]) if claim else {}
    return found | ({BASELINE: 0.0} if found and quantity == BEYOND_LENGTH else {})


def habits(estimates: Estimates) -> Figure:
    """How many keys heads use, and which."""
    shown = [quantity for quantity in QUANTITIES if quantity != "effective keys" and _has(estimates, quantity)]
    uses = [e.value for e in estimates.of("share of keys")]
    used = f"between {min(uses):.0%} and {max(uses):.0%} of the keys"
    title = (
        f"Heads use {used} that they see\n"
        "(the exponential of the entropy of a query's attention weights, divided by the number of keys)"
    )
    shape, grids = (
        shape_of(estimates.of("share of keys")),
        [Panel(HABITS[each], estimates.of(each)) for each in shown],
    )
    return panels(title, 2, shape, grids)


def bluntness(estimates: Estimates) -> Figure:
    """The largest weight of a row by its length, beside the bound that the spread of scores gives."""
    top, bound = estimates.of("largest weight"), estimates.of("bound on the largest weight")
    near = [e.value for e in estimates.of("largest weight over its bound")]
    title = (
        f"In the median head the largest attention weight of a query is {np.median(near):.0%}\n"
        "of the bound that the range of its scores sets"
    )
    figure, (ax,) = style.panels(title, size=(7.4, 5.0))
    for series, layer in enumerate(sorted({e.setting["layer"] for e in top})):
        own = Estimates(e for e in top if e.setting["layer"] == layer)
        xs = [e.setting["keys_from"] * (1 + 0.02 * series) for e in own]
        bars(ax, own, xs, series=series, label=f"layer {layer}", line=True)
        allowed = [e for e in bound if e.setting["layer"] == layer]
        ax.plot(
            [e.setting["keys_from"] for e in allowed],
            [e.value for e in allowed],
            color=style.COLOURS[series % 7],
            linestyle=style.DASHES[series % 7],
            linewidth=0.8,
            alpha=0.6,
        )
    ax.set_xscale("log", base=2)
    held = sorted({e.setting["keys_from"] for e in [*top, *bound]})
    ax.set_xticks(held, [from_to(length, habits_of.LENGTHS) for length in held])
    ax.minorticks_off()
    ax.set(
        xlabel="number n of keys that a query sees",
        ylabel="largest attention weight of a query,\nmean over queries and heads",
        ylim=(0, 1.02),
    )
    told = "thin line: mean of the bound 1 / (1 + (n − 1) exp(−r)), r: largest score minus smallest one"
    below(figure, ncols=6, title=f"{told}\n{interval(top[0], 'simultaneous')}")
    return figure


def hedging(estimates: Estimates, findings: Findings) -> Figure:
    """The gamble of a layer's mean, beside what copies of its heads would gamble."""
    mean, alike = estimates.of("gamble index of the mean"), estimates.of("gamble index of one head's copies")
    title = (
        "Averaging the heads of a layer at least halves the gamble index of one head alone:\n"
        f"{tallied(findings.of('the-layer-hedges'), 'layer')}"
    )
    figure, (ax,) = style.panels(title, size=(7.6, 4.8))
    for series, (found, label) in enumerate(
        ((mean, "average of the layer's heads"), (alike, "one head alone, mean over the layer's heads"))
    ):
        bars(ax, found, [e.setting["layer"] + 0.12 * series - 0.06 for e in found], series=series, label=label)
    for half in alike:
        ends = [half.setting["layer"] - 0.2, half.setting["layer"] + 0.2]
        label = "half of one head alone" if half is alike[0] else None
        ax.plot(ends, [half.value / 2] * 2, color=style.INK, linestyle="--", linewidth=1, label=label)
    ax.set_xticks([e.setting["layer"] for e in mean])
    ax.set(
        xlabel="layer (without those that have too few pairs of nearly equal keys)",
        ylabel="gamble index (0: two nearly equal keys\nalways share alike, 1: always one gets all)",
    )
    below(figure, ncols=3, title=interval(mean[0], "simultaneous"))
    return figure


def calibration(estimates: Estimates) -> Figure:
    """Weights of frequent words as theory predicts them, and as they are, layer by layer."""
    curve = estimates.of("mean weight by prediction")
    explained = np.median([e.value for e in estimates.of("weights explained by theory")])
    by_type = np.median([e.value for e in estimates.of("weights explained by the type")])
    without = np.median([e.value for e in estimates.of("weights explained without noise")])
    title = (
        f"Predicted attention weights on frequent words explain {explained:.0%} of the variance of actual ones.\n"
        f"Predicted without the spread of a word's keys they explain {without:.0%};\n"
        f"the mean weight of a word alone explains {by_type:.0%} (medians over heads)"
    )
    layers = sorted({e.setting["layer"] for e in curve})
    columns = min(len(layers), 3)
    rows = -(-len(layers) // columns)
    size = (max(8.6, 3.2 * columns), 2.7 * rows + 1.4)
    figure, axes = style.panels(title, rows, columns, size=size)
    for ax in axes[len(layers) :]:
        ax.set_axis_off()
    # Each layer has axes of its own: its small weights would lie on each other beside another's large ones.
    for ax, layer in zip(axes, layers, strict=False):
        own = Estimates(e for e in curve if e.setting["layer"] == layer)
        top = 1.05 * max(max(e.setting["predicted"], e.value) for e in own)
        first = ax is axes[0]
        ax.plot([0, top], [0, top], color=style.INK, linewidth=1, label="actual = predicted" if first else None)
        label = "mean of a tenth of the keys, sorted by predicted weight" if first else None
        bars(ax, own, [e.setting["predicted"] for e in own], series=0, label=label)
        ax.set(title=f"layer {layer}", xlabel="predicted attention weight", ylabel="actual attention weight")
    below(figure, ncols=2, title=interval(curve[0], "simultaneous"))
    return figure


def collapse(estimates: Estimates) -> Figure:
    """One line for each way to take layers apart."""
    by_depth = estimates.of("distance to rank one")
    deepest = max(e.setting["depth"] for e in by_depth)
    left = {e.setting["kept"]: e.value for e in by_depth if e.setting["depth"] == deepest}
    title = (
        f"After all layers the tokens' distance from their mean is {left[Kept.ATTENTION]:.2g} of their norm\n"
        f"with attention alone, and {left[Kept.ALL]:.2g} of it with the whole model"
    )
    figure, (ax,) = style.panels(title, size=(7.4, 4.6))
    is_known = False
    for series, kept in enumerate(Kept):
        own = by_depth.of("distance to rank one", kept=kept)
        # Beside each other: one would hide another.
        xs = [e.setting["depth"] + 0.08 * (series - 1.5) for e in own]
        bars(ax, own, xs, series=series, label=LEFT.get(kept, str(kept)), line=True)
        for reached in _left_by_controls(estimates, str(kept)):
            look = {"color": style.COLOURS[series % 7], "linewidth": 2, "label": None}
            control(ax, own[-1].value * reached, CONTROLS, across=(xs[-1] - 0.25, xs[-1] + 0.25), **look)
            is_known = True
    if is_known:
        control(ax, math.nan, f"{CONTROLS}: the strongest control", across=(0, deepest), linewidth=2)
    ax.set_yscale("log")
    ax.set_xticks(sorted({e.setting["depth"] for e in by_depth}))
    ax.set(xlabel="layers passed", ylabel="distance of the tokens from their mean,\nas a share of their norm")
    told = f"what is kept of the layers; {interval(by_depth[0], 'simultaneous')}"
    below(figure, ncols=3, title=told)
    return figure


def _left_by_controls(estimates: Estimates, kept: str) -> Iterator[float]:
    """What the strongest control has left of the distance, as a multiple of what the model has left."""
    left = [e for e in estimates if e.quantity == "share of the distance left" and e.setting["kept"] == kept]
    for stated in [stated for stated in STATEMENTS if any(map(stated.asks, left))]:
        assert isinstance(stated.predicted, Interval)
        for each in [e for e in estimates if e.quantity == beyond(stated.name)]:
            # A difference of logarithms, counted on the side of the statement.
            yield math.exp(from_the_side_of(stated.predicted, -each.value))


def ablations(estimates: Estimates, findings: Findings) -> Figure:
    """What is lost without each head; one can be spared that costs at most `SPARED` of the accuracy."""
    lost, moved = estimates.of("accuracy lost"), estimates.of("log-odds moved")
    needed, spared = findings.of("the-head-is-needed"), findings.of("the-model-does-without-the-head")
    (own,) = estimates.of("accuracy")
    points = f"{100 * SPARED:g} percentage point{'s' * (SPARED != 0.01)}"
    title = (
        f"The accuracy of {own.value:.1%} is lower without the head: {tallied(needed, 'head')}.\n"
        f"Without the head it falls by at most {points}: {tallied(spared, 'head')}"
    )
    shown = (
        Panel("Is the accuracy lower without the head?\n(colour: accuracy lost)", lost, needed),
        Panel(f"Does it fall by at most {points}?\n(colour: accuracy lost)", lost, spared),
        Panel("How far the log-odds of the labels move without\nthe head, mean over sentences (no verdict)", moved),
        Panel(
            "p-value of the hypothesis that the accuracy is the\nsame without the head (McNemar, each head alone)",
            estimates.of("mcnemar p"),
        ),
    )
    told = "without the head: its output is replaced by its mean"
    return panels(title, 2, shape_of(moved), shown, told=told)


def pairs(estimates: Estimates, findings: Findings) -> Figure:
    """What is lost without both of two heads that are hardly missed alone."""
    beyond = estimates.of("log-odds lost beyond the sum")
    found = findings.of("redundant-heads-stand-in-for-each-other")
    title = (
        "Leaving out both heads of a pair costs more log-odds than leaving out each, added up\n"
        f"(one head stands in for the other): {tallied(found, 'pair')}"
    )
    figure, (ax,) = style.panels(title, size=(8.4, 4.6))
    bars(ax, beyond, range(len(beyond)), series=0)
    ax.axhline(0, color=style.INK, linestyle="--", linewidth=1)
    names = [f"{e.setting['first']}, {e.setting['second']}" for e in beyond]
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    ax.set(
        xlabel="the two heads of a pair, each as layer.head",
        ylabel="log-odds of the right label lost\nwithout both heads, minus the sum\nof what is lost without each",
    )
    told = "the heads that are missed least, on sentences that were not used to choose them"
    note(figure, f"{told}; {interval(beyond[0], 'simultaneous')}")
    return figure


def survival(estimates: Estimates, findings: Findings) -> Figure:
    """The error of every head at the budget at which it is judged, and its least rank."""
    found = findings.of("the-head-survives")
    shown = list(dict.fromkeys((f.setting["approximation"], f.setting["budget"]) for f in found))
    title = (
        f"Of {len(found)} pairs of a head and an approximation, {supported(found)} are shown to err by at most "
        f"{TOLERATED:.0%},\nwith {JUDGED_FEATURES} random features or {JUDGED_KEYS} keys "
        "(colour: relative error of the outputs; in the last panel, a rank)"
    )
    least = estimates.of("least rank for a tenth")
    grids = [
        Panel(own["approximation"], estimates.of("relative error", **own), found.of(found[0].claim, **own), 1.0)
        for name, budget in shown
        for own in [{"approximation": name, "budget": budget}]
    ]
    rank = f"least rank of a matrix within {TOLERATED:.0%} of the outputs"
    return panels(title, 3, shape_of(least), [*grids, Panel(rank, least)])


def budgets(estimates: Estimates) -> Figure:
    """The mean error over heads by budget."""
    found = estimates.of("relative error, mean over heads")
    names = list(dict.fromkeys(e.setting["approximation"] for e in found))
    least = min(found, key=lambda e: e.value)
    name, budget = least.setting["approximation"], least.setting["budget"]
    title = (
        f"{name} with {budget} {unit(name)} for each query has the lowest error, "
        f"{least.value:.0%} on average over heads;\nwanted is {TOLERATED:.0%} at most"
    )
    shown = {
        f"features, {coupling} projections": [name for name in names if name.endswith(f"features, {coupling}")]
        for coupling in COUPLINGS
    }
    shown["keys, or pooled keys (Linformer), of a query"] = [name for name in names if "features" not in name]
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
        ax.set(xlabel=told, ylabel="relative error of a head's output,\nmean over heads", ylim=(0, 1.02))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)
    note(figure, f"dashed: the error that is tolerated; {interval(found[0], 'simultaneous')}")
    return figure


def ranks(estimates: Estimates) -> Figure:
    """Rows of a sketch for an error of a tenth, by length."""
    least = estimates.of("least rank for a tenth, by length")
    drawn = estimates.of("rank of a drawn sketch for a tenth, by length")
    title = (
        f"To come within {TOLERATED:.0%} of a head's outputs, a low-rank matrix needs rank "
        f"{np.mean([e.value for e in least]):.0f} at least; a random sketch\n"
        "(attention weights and values projected by a random matrix) needs "
        f"{np.mean([e.value for e in drawn]):,.0f} rows (means of all points)"
    )
    figure, axes = style.panels(title, 1, 2, size=(9.0, 4.6))
    for ax, own, told in (
        (axes[0], least, f"least rank of any matrix within {TOLERATED:.0%}"),
        (axes[1], drawn, "rows of a random sketch, predicted"),
    ):
        for series, layer in enumerate(sorted({e.setting["layer"] for e in own})):
            chosen = Estimates(e for e in own if e.setting["layer"] == layer)
            xs = [LENGTHS.index(e.setting["tokens_from"]) + 0.06 * (series - 2.5) for e in chosen]
            bars(ax, chosen, xs, series=series, label=f"layer {layer}" if ax is axes[0] else None)
        held = [LENGTHS.index(length) for length in sorted({e.setting["tokens_from"] for e in own})]
        ax.set_xticks(held, [from_to(LENGTHS[at], LENGTHS) for at in held])
        ax.set(xlabel="number of tokens of the sentence", ylabel=told)
    axes[1].set_yscale("log")
    below(figure, ncols=6, title=interval(least[0], "simultaneous"))
    return figure


def replaced(estimates: Estimates) -> Figure:
    """The accuracy with all heads replaced."""
    (own,) = estimates.of("accuracy")
    found = estimates.of("accuracy with all heads replaced")
    best = max(found, key=lambda e: e.value)
    title = (
        f"With an approximation in place of all heads, the accuracy of {own.value:.1%}\n"
        f"becomes {best.value:.1%} at best, with {best.setting['approximation']}"
    )
    figure, (ax,) = style.panels(title, size=(7.6, 0.4 * len(found) + 1.6))
    for place, each in enumerate(found):
        ends = [[each.value - each.interval.low], [each.interval.high - each.value]]
        ax.errorbar(
            each.value, place, xerr=np.maximum(ends, 0), fmt="o", color=style.COLOURS[0], markerfacecolor="white"
        )
    ax.axvline(own.value, color=style.INK, linestyle="--", linewidth=1)
    ax.axvspan(own.interval.low, own.interval.high, color=style.INK, alpha=0.12, linewidth=0)
    budgets_of = [(e.setting["approximation"], e.setting["budget"]) for e in found]
    labels = [f"{name}, {budget} {unit(name)}" for name, budget in budgets_of]
    ax.set_yticks(range(len(found)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="accuracy")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    note(
        figure,
        f"dashed, shaded: the model as it is; interval: measured ({level(own)} for all together, Bonferroni)",
    )
    return figure


def from_to(start: int, starts: Sequence[int]) -> str:
    """The range of whole numbers that begins at one of these starts, in words."""
    later = [each for each in starts if each > start]
    return f"{start} to {min(later) - 1}" if later else f"{start} or more"


def _has(estimates: Estimates, quantity: str) -> bool:
    return any(e.quantity == quantity for e in estimates)
