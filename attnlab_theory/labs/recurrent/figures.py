"""Pictures of what recurrent networks learn. Imports matplotlib: import this module where one is drawn."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.plots import bars, below, control, control_of, interval, level, look, named, note
from attnlab_theory.labs.recurrent.claims import GAIN, GAIN_BY_SIZE, GARBLED, GARBLED_BY_RATE, LESS, STATEMENTS
from attnlab_theory.report import style

CALLED = {"rnn": "RNN", "w-rnn": "W-RNN", "gpt": "GPT"}

W_RNN = "W-RNN: an RNN with a second hidden layer, which reads the first layer at this step and at the step before"
"""The meaning of the name, as a line of a legend."""

TUNED = (*style.COLOURS, "#882255")
"""A colour for each of the homework's eight settings."""


def losses(estimates: Estimates) -> Figure:
    """The losses of the models at equal numbers of parameters, minus those of the grammar if it is known."""
    known = any(estimate.quantity == "loss above the grammar" for estimate in estimates)
    return _above_the_grammar(estimates) if known else _on_a_text(estimates)


def _above_the_grammar(estimates: Estimates) -> Figure:
    """The loss of each model above that of the grammar, seed by seed."""
    found = estimates.of("loss above the grammar")
    arms = list(dict.fromkeys(e.setting["arm"] for e in found))
    means = {arm: float(np.mean([e.value for e in found if e.setting["arm"] == arm])) for arm in arms}
    said = ", ".join(f"{value:.3f} ({CALLED[arm]})" for arm, value in means.items())
    title = f"Mean losses exceed that of the grammar that wrote the text by\n{said} nats per token"
    figure, (ax,) = style.panels(title, size=(7.2, 4.6))
    for series, arm in enumerate(arms):
        each = estimates.of("loss above the grammar", arm=arm)
        xs = [series + 0.14 * (n - (len(each) - 1) / 2) for n in range(len(each))]
        bars(ax, each, xs, series=series, label=f"{CALLED[arm]}, {each[0].setting['parameters']:,} parameters")
    ax.axhline(0, color=style.INK, linewidth=1)
    _the_compared(ax, estimates, means)
    named(ax, [CALLED[arm] for arm in arms])
    ax.set(
        xlabel="model; a point for each seed (line at 0: the grammar itself)",
        ylabel="nats per token above the grammar",
    )
    below(figure, ncols=3, title=f"{interval(found[0], 'mean over test tokens, t')}\n{W_RNN}")
    return figure


def _on_a_text(estimates: Estimates) -> Figure:
    """The loss of each model on a text of unknown entropy, over seeds."""
    found = [e for e in estimates.of("test loss") if e.setting["model"] in CALLED]
    said = ", ".join(f"{e.value:.3f} ({CALLED[e.setting['model']]})" for e in found)
    title = f"The mean test loss of {found[0].draws} seeds is\n{said} nats per token"
    figure, (ax,) = style.panels(title, size=(7.2, 4.6))
    for series, each in enumerate(found):
        label = f"{CALLED[each.setting['model']]}, {each.setting['parameters']:,} parameters"
        bars(ax, Estimates([each]), [series], series=series, label=label)
    _the_compared(ax, estimates, {e.setting["model"]: e.value for e in found})
    named(ax, [CALLED[e.setting["model"]] for e in found])
    ax.set(xlabel="model; all are trained on equally many tokens", ylabel="test loss, nats per token")
    below(figure, ncols=3, title=f"{_over(found[0])}\n{W_RNN}")
    return figure


def _the_compared(ax: Axes, estimates: Estimates, losses: Mapping[str, float]) -> None:
    """A line at the mean loss of the model with which others are compared."""
    for stated in STATEMENTS:
        for each in filter(stated.asks, estimates):
            if stated.quantity == LESS:
                control(ax, losses[each.setting["against"]], control_of(STATEMENTS, LESS))


def growth(estimates: Estimates) -> Figure:
    """The gain of the W-RNN over the RNN, by hidden size."""
    found = estimates.of(GAIN)
    (slope,) = estimates.of(GAIN_BY_SIZE)
    sign, said = 1, "The W-RNN's loss minus the RNN's changes"
    if all(e.value < 0 for e in found):
        sign, verb = (1, "shrinks") if slope.value > 0 else (-1, "grows")
        said = f"The W-RNN's lead over the RNN {verb}"
    low, high = sorted((sign * slope.interval.low, sign * slope.interval.high))
    title = (
        f"{said} by {sign * slope.value:.3f} nats per token, on average,\n"
        f"each time the hidden layers become twice as wide ({level(slope)} interval {low:.3f} to {high:.3f})"
    ).replace("-0", "−0")
    figure, (ax,) = style.panels(title, size=(7.2, 4.6))
    bars(ax, found, [e.setting["hidden"] for e in found], series=0, line=True, label=_over(found[0]))
    control(ax, float(np.mean([e.value for e in found])), control_of(STATEMENTS, GAIN_BY_SIZE))
    ax.axhline(0, color=style.INK, linewidth=1, label="equal losses")
    ax.set_xscale("log", base=2)
    ax.set_xticks([e.setting["hidden"] for e in found], [str(e.setting["hidden"]) for e in found])
    ax.set(xlabel="hidden units of each layer", ylabel="loss of the W-RNN minus the RNN's,\nnats per token")
    below(figure, title=W_RNN)
    return figure


def garbled(estimates: Estimates) -> Figure:
    """The share of garbled words, by learning rate."""
    found = estimates.of(GARBLED)
    worst = max(found, key=lambda e: e.value)
    mean = ", on average over seeds" if worst.draws > 1 else ""
    title = (
        f"At learning rate {worst.setting['rate']:g} the RNN garbles most words: {worst.value:.0%} of those\n"
        f"that it writes do not occur in the training text{mean}"
    )
    figure, (ax,) = style.panels(title, size=(6.4, 4.2))
    bars(ax, found, [e.setting["rate"] for e in found], series=0, line=True, label=_over(found[0]))
    control(ax, float(np.mean([e.value for e in found])), control_of(STATEMENTS, GARBLED_BY_RATE))
    ax.set_xscale("log")
    ax.set(
        xlabel="learning rate",
        ylabel="share of written words that do not\noccur in the training text",
        ylim=(-0.02, 1.02),
    )
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    below(figure)
    return figure


def gradients(estimates: Estimates) -> Figure:
    """The gradient of an earlier token, by distance."""
    found = estimates.of("log of the gradient's norm")
    furthest = max(e.setting["distance"] for e in found)
    arms = list(dict.fromkeys(e.setting["arm"] for e in found))
    ends = {
        arm: np.exp(
            estimates.of("log of the gradient's norm", arm=arm, weights="trained", distance=furthest)[0].value
        )
        for arm in arms
    }
    said = ", ".join(f"{value:.1%} ({CALLED[arm]})" for arm, value in ends.items())
    title = f"{furthest} tokens back, the gradient of trained models still has\n{said} of its norm at distance 0"
    figure, axes = style.panels(title, 1, 2, size=(9.6, 4.4))
    panels = {"first weights": "before training", "trained": "after training"}
    for ax, (weights, told) in zip(axes, panels.items(), strict=True):
        for series, arm in enumerate(arms):
            each = estimates.of("log of the gradient's norm", arm=arm, weights=weights)
            xs, ys = [0, *(e.setting["distance"] for e in each)], [1.0, *(np.exp(e.value) for e in each)]
            low, high = (
                [np.exp(np.clip(end, -20, 20)) for end in ends]
                for ends in zip(*((e.interval.low, e.interval.high) for e in each), strict=True)
            )
            ax.plot(xs, ys, label=CALLED[arm], **look(series))
            ax.fill_between(xs[1:], low, high, color=style.COLOURS[series], alpha=0.12, linewidth=0)
        ax.set(yscale="log", xlabel="distance, tokens", title=told, ylim=(3e-3, 1e1))
    axes[0].set_ylabel(
        "norm of the gradient of the last loss\nwith respect to a token's vector,\nrelative to that at distance 0"
    )
    axes[1].legend(loc="upper right", title=_over(found[0]).replace("interval", "shade"), title_fontsize=8)
    note(figure, W_RNN)
    return figure


def tuning(rows: Sequence[Mapping[str, Any]], estimates: Estimates) -> Figure:
    """The smoothed loss of the homework's settings, step by step. Cells have panels, settings have colours."""
    best = min(estimates.of("smoothed loss"), key=lambda e: e.value)
    names = list(dict.fromkeys(row["name"] for row in rows))
    of = {row["name"]: row for row in rows}
    lowest = of[best.setting["setting"]]
    title = (
        f"After {lowest['steps'][-1]:,} steps the lowest loss, mean of the seeds, "
        f"is {best.value:.2f} nats per character:\n"
        f"that of the {CALLED[lowest['cell']]} with {_sizes(lowest)}"
    )
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    figure, axes = style.panels(title, 1, len(cells), size=(4.8 * len(cells), 5.6))
    for ax, cell in zip(axes, cells, strict=True):
        for place, name in enumerate(name for name in names if of[name]["cell"] == cell):
            for number, row in enumerate(r for r in rows if r["name"] == name):
                ax.plot(
                    row["steps"],
                    row["losses"],
                    color=TUNED[names.index(name) % len(TUNED)],
                    linestyle=style.DASHES[place % len(style.DASHES)],
                    label=_sizes(row) if number == 0 else None,
                    linewidth=1.2,
                )
        ax.sharey(axes[0])
        activation = of[names[0]]["activation"]
        ax.set(xlabel="training steps, one window of text each", title=f"{CALLED[cell]}, {activation} activations")
        # Below the panel: curves fill all of it.
        below = {"loc": "upper left", "bbox_to_anchor": (0, -0.13)}
        ax.legend(
            **below,
            fontsize=8,
            title="a line for each seed",
            title_fontsize=8,
            alignment="left",
        )
    axes[0].set_ylabel("smoothed loss, nats per character")
    note(figure, W_RNN)
    return figure


def _sizes(row: Mapping[str, Any]) -> str:
    """Hidden units, window and learning rate of a curve."""
    return re.sub(r"windows of (\d+)", r"windows of \1 characters", row["sizes"])


def _over(estimate: Estimate) -> str:
    return interval(estimate, f"of the mean, t, {estimate.draws} seeds")
