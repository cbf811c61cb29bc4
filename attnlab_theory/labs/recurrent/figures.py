"""Pictures of what recurrent networks learn. Imports matplotlib: import this module where one is drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.plots import bars, interval
from attnlab_theory.labs.recurrent.claims import GAIN, GAIN_BY_SIZE, GARBLED
from attnlab_theory.report import style

CALLED = {"rnn": "RNN", "w-rnn": "W-RNN", "gpt": "GPT"}

TUNED = (*style.COLOURS, "#882255")
"""A colour for each of the homework's eight settings."""


def losses(estimates: Estimates) -> Figure:
    """The losses of the models at equal parameters: above those of the grammar, or themselves."""
    known = any(estimate.quantity == "loss above the grammar" for estimate in estimates)
    return _above_the_grammar(estimates) if known else _on_a_text(estimates)


def _above_the_grammar(estimates: Estimates) -> Figure:
    """How far each model's loss is above that of the grammar, seed by seed."""
    found = estimates.of("loss above the grammar")
    arms = list(dict.fromkeys(e.setting["arm"] for e in found))
    means = {arm: np.mean([e.value for e in estimates.of("loss above the grammar", arm=arm)]) for arm in arms}
    said = ", ".join(f"{CALLED[arm]} {value:.3f}" for arm, value in means.items())
    figure, (ax,) = style.panels(f"Loss above the language's own: {said}", size=(6.8, 4.0))
    for series, arm in enumerate(arms):
        each = estimates.of("loss above the grammar", arm=arm)
        xs = [series + 0.14 * (n - (len(each) - 1) / 2) for n in range(len(each))]
        bars(ax, each, xs, series=series, label=f"{CALLED[arm]}, {each[0].setting['parameters']:,} parameters")
    ax.axhline(0, color=style.INK, linewidth=1)
    ax.set_xticks(range(len(arms)), [CALLED[arm] for arm in arms])
    ax.grid(visible=False, axis="x")
    ax.set(
        xlabel="model; one point for each seed (line at 0: the language itself)",
        ylabel="nats per token above the grammar",
    )
    figure.legend(loc="outside lower left", fontsize=8, ncols=3, title=interval(found[0], "t"), title_fontsize=8)
    return figure


def _on_a_text(estimates: Estimates) -> Figure:
    """Each model's loss on a text whose own entropy nobody knows, over seeds."""
    found = [e for e in estimates.of("test loss") if e.setting["model"] in CALLED]
    said = ", ".join(f"{CALLED[e.setting['model']]} {e.value:.3f}" for e in found)
    figure, (ax,) = style.panels(f"Test loss: {said}", size=(6.8, 4.0))
    for series, each in enumerate(found):
        label = f"{CALLED[each.setting['model']]}, {each.setting['parameters']:,} parameters"
        bars(ax, Estimates([each]), [series], series=series, label=label)
    ax.set_xticks(range(len(found)), [CALLED[e.setting["model"]] for e in found])
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="model; all read equally many tokens", ylabel="test loss, nats per token")
    figure.legend(loc="outside lower left", fontsize=8, ncols=3, title=_over(found[0]), title_fontsize=8)
    return figure


def growth(estimates: Estimates) -> Figure:
    """What the W-RNN gains on the RNN, by hidden size."""
    found = estimates.of(GAIN)
    (slope,) = estimates.of(GAIN_BY_SIZE)
    title = (
        f"Per doubling of the hidden layer the W-RNN's loss changes by {slope.value:+.3f} nats against the RNN's\n"
        f"(interval {slope.interval.low:+.3f} to {slope.interval.high:+.3f})"
    )
    figure, (ax,) = style.panels(title, size=(6.8, 4.2))
    bars(ax, found, [e.setting["hidden"] for e in found], series=0, line=True, label=_over(found[0]))
    ax.axhline(0, color=style.INK, linewidth=1)
    ax.set_xscale("log", base=2)
    ax.set_xticks([e.setting["hidden"] for e in found], [str(e.setting["hidden"]) for e in found])
    ax.set(xlabel="hidden units of each layer", ylabel="loss of the W-RNN less the RNN's,\nnats per token")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", fontsize=8)
    return figure


def garbled(estimates: Estimates) -> Figure:
    """The share of words that are none, by learning rate."""
    found = estimates.of(GARBLED)
    worst = max(found, key=lambda e: e.value)
    title = f"Most garbled words at learning rate {worst.setting['rate']:g}: {worst.value:.0%}"
    figure, (ax,) = style.panels(title, size=(6.0, 4.0))
    bars(ax, found, [e.setting["rate"] for e in found], series=0, line=True, label=_over(found[0]))
    ax.set_xscale("log")
    ax.set(xlabel="learning rate", ylabel="words that are none of the language", ylim=(-0.02, 1.02))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", fontsize=8)
    return figure


def gradients(estimates: Estimates) -> Figure:
    """How much gradient an earlier token gets, by distance."""
    found = estimates.of("log of the gradient's norm")
    furthest = max(e.setting["distance"] for e in found)
    arms = list(dict.fromkeys(e.setting["arm"] for e in found))
    ends = {
        arm: np.exp(
            estimates.of("log of the gradient's norm", arm=arm, weights="trained", distance=furthest)[0].value
        )
        for arm in arms
    }
    said = ", ".join(f"{CALLED[arm]} {value:.1%}" for arm, value in ends.items())
    figure, axes = style.panels(f"Gradient left at a distance of {furthest} tokens, trained: {said}", 1, 2)
    for ax, weights in zip(axes, ("first weights", "trained"), strict=True):
        for series, arm in enumerate(arms):
            each = estimates.of("log of the gradient's norm", arm=arm, weights=weights)
            xs, ys = [0, *(e.setting["distance"] for e in each)], [1.0, *(np.exp(e.value) for e in each)]
            low, high = (
                [np.exp(np.clip(end, -20, 20)) for end in ends]
                for ends in zip(*((e.interval.low, e.interval.high) for e in each), strict=True)
            )
            look = {"color": style.COLOURS[series], "linestyle": style.DASHES[series]}
            ax.plot(xs, ys, marker=style.MARKERS[series], markerfacecolor="white", label=CALLED[arm], **look)
            ax.fill_between(xs[1:], low, high, color=style.COLOURS[series], alpha=0.12, linewidth=0)
        ax.set(yscale="log", xlabel="distance, tokens", title=weights, ylim=(3e-3, 1e1))
    axes[0].set_ylabel("norm of the gradient,\nrelative to that at distance 0")
    axes[1].legend(loc="upper right", title=_over(found[0]).replace("interval", "shade"), title_fontsize=8)
    return figure


def tuning(rows: Sequence[Mapping[str, Any]], estimates: Estimates) -> Figure:
    """The smoothed loss of the homework's settings, over the steps: a panel for each cell, a colour for each."""
    best = min(estimates.of("smoothed loss"), key=lambda e: e.value)
    names = list(dict.fromkeys(row["name"] for row in rows))
    of = {row["name"]: row for row in rows}
    lowest = of[best.setting["setting"]]
    title = (
        f"Lowest of the homework's settings with the right gradient: {best.value:.2f} nats per character,\n"
        f"the {CALLED[lowest['cell']]} of {lowest['sizes']}"
    )
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    figure, axes = style.panels(title, 1, len(cells), size=(4.8 * len(cells), 5.6))
    for ax, cell in zip(axes, cells, strict=True):
        for series, name in enumerate(names):
            for number, row in enumerate(r for r in rows if r["name"] == name and r["cell"] == cell):
                ax.plot(
                    row["steps"],
                    row["losses"],
                    color=TUNED[series % len(TUNED)],
                    linestyle=style.DASHES[series % len(style.DASHES)],
                    label=row["sizes"] if number == 0 else None,
                    linewidth=1.2,
                )
        ax.sharey(axes[0])
        ax.set(xlabel="windows", title=f"{CALLED[cell]}, {of[names[0]]['activation']}")
        # Below the panel: curves fill all of it.
        below = {"loc": "upper left", "bbox_to_anchor": (0, -0.13)}
        ax.legend(**below, fontsize=8, title="a line for each seed", title_fontsize=8, alignment="left")
    axes[0].set_ylabel("smoothed loss, nats per character")
    return figure


def _over(estimate: Estimate) -> str:
    return interval(estimate, f"t, {estimate.draws} seeds")
