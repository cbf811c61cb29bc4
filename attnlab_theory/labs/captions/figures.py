"""Pictures of what models write. Imports matplotlib: import this module where one is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from attnlab_theory.labs.captions.arms import DECODINGS
from attnlab_theory.labs.captions.names import called, in_words, joined, two_lines
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.plots import bars, below, interval, look, named, note
from attnlab_theory.report import style

NUMBER_AT = ((-8, -9), (11, 9), (9, -9), (9, 9), (0, 22))
"""The offset of a point's number, by line, in points. The lines lie close together."""

BEHIND_WORDS = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}

MOST = 5
"""The most arms in one figure."""


def perplexities(estimates: Estimates) -> Figure:
    """Both perplexities of every arm, beside each other."""
    by_sentence, by_token = (estimates.of(f"perplexity of {what}") for what in ("sentences", "tokens"))
    arms = [each.setting["arm"] for each in by_sentence]
    best = min(by_sentence, key=lambda e: e.value)
    title = (
        f"Of these models, {in_words(best.setting['arm'])}\n"
        f"has the lowest measured perplexity, {best.value:.3g} (by the mean of sentence means)"
    )
    figure, (ax,) = style.panels(title, size=(max(6.4, 1.1 * len(arms) + 1.5), 4.6))
    for series, (found, label) in enumerate(
        ((by_sentence, "mean of sentence means (homework)"), (by_token, "mean over tokens"))
    ):
        bars(ax, found, [x + 0.24 * series - 0.12 for x in range(len(arms))], series=series, label=label)
    named(ax, [two_lines(arm) for arm in arms], fontsize=8)
    ax.set(ylabel="perplexity on test sentences", xlim=(-0.6, len(arms) - 0.4))
    _cut_off(ax, by_sentence + by_token)
    below(figure, ncols=2, title=_over(by_sentence))
    return figure


def validation(curves: Sequence[Mapping[str, Any]]) -> Figure:
    """The validation loss of every arm and seed, epoch by epoch."""
    arms = _few(row["arm"] for row in curves)
    seeds = [len(_by_seed(curves, arm)) for arm in arms]
    form = ".0f" if max(seeds) == 1 else ".1f"
    ends = {}
    for arm in arms:
        by_seed = _by_seed(curves, arm).values()
        ends[arm] = np.mean([min(rows, key=lambda row: row["loss"])["epoch"] for rows in by_seed])
    first, *rest = (f"({arm})" for arm in arms)
    number = iter(format(epoch, form) for epoch in ends.values())
    said = ", ".join([f"{next(number)} epochs {first}", *(f"{next(number)} {arm}" for arm in rest)])
    title = f"alidation loss is lowest after {said}"
    title = f"V{title}" if max(seeds) == 1 else f"On average over {_from_to(seeds)} seeds, v{title}"
    figure, (ax,) = style.panels(title, size=(6.8, 4.4))
    for series, arm in enumerate(arms):
        for place, rows in enumerate(_by_seed(curves, arm).values()):
            ax.plot(
                [row["epoch"] for row in rows],
                [row["loss"] for row in rows],
                label=None if place else in_words(arm),
                # Lines that coincide: the lower one has larger markers.
                **look(series, linewidth=1.2, markerfacecolor="none", markersize=9 - 1.5 * series),
            )
    every = len({row["arm"] for row in curves})
    ax.set(xlabel="epoch", ylabel="validation loss, nats per token")
    if every > len(arms):
        note(figure, f"{len(arms)} of {every} arms are drawn")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="upper right", title="a line for each seed" if max(seeds) > 1 else None, title_fontsize=9)
    return figure


def _by_seed(curves: Sequence[Mapping[str, Any]], arm: str) -> dict[int, list[Mapping[str, Any]]]:
    of_arm = [row for row in curves if row["arm"] == arm]
    return {seed: [row for row in of_arm if row["seed"] == seed] for seed in {row["seed"]: None for row in of_arm}}


def quality_and_diversity(estimates: Estimates) -> Figure:
    """Backward against forward BLEU, a point for every decoding, a line for every arm."""
    forward = estimates.of("forward")
    arms = _few(each.setting["arm"] for each in forward)
    if len({each.setting["decoding"] for each in forward}) > MOST:
        return _frontier(estimates, arms[0])
    figure, (ax,) = style.panels(_trade(estimates, arms[0]), size=(7.0, 5.0))
    lines = {
        arm: sorted(
            ((e, estimates.of("backward", **e.setting)[0]) for e in estimates.of("forward", arm=arm)),
            key=lambda pair: pair[0].value,
        )
        for arm in arms
    }
    for series, (arm, points) in enumerate(lines.items()):
        _line(ax, points, series=series, label=in_words(arm))
    # The upper line has room above it. All others lie close to each other.
    upper = max(lines.values(), key=lambda points: np.mean([y.value for _, y in points]))
    for x, y in upper:
        near = [
            x_of.interval.high
            for points in lines.values()
            for x_of, y_of in points
            if x_of.setting["decoding"] == x.setting["decoding"] and y_of.interval.overlaps(y.interval)
        ]
        ax.annotate(
            called(x.setting["decoding"]).replace(", ", "\n"),
            (max(near), y.value),
            (4, 3),
            textcoords="offset points",
            fontsize=8,
            bbox=BEHIND_WORDS,
            zorder=5,
            ha="left",
            va="bottom",
        )
    ax.set(xlabel="forward BLEU: is each sentence well formed?", ylabel="backward BLEU: is everything covered?")
    ax.margins(0.2, 0.12)
    orders = {tuple(x.setting["decoding"] for x, _ in points) for points in lines.values()}
    if len(orders) == 1 < len(lines):
        (order,) = orders
        note(figure, f"on each line, from left to right: {'; '.join(map(joined, order))}")
    ax.legend(loc="lower left", title=_over(forward), title_fontsize=8)
    return figure


def _frontier(estimates: Estimates, arm: str) -> Figure:
    """The same for many decodings of one arm: a line for every way to cut, along its number."""
    forward = estimates.of("forward", arm=arm)
    best = max(estimates.of("harmonic", arm=arm), key=lambda e: e.value)
    title = (
        f"With {joined(best.setting['decoding'])} the model {arm} has the highest harmonic mean\n"
        f"of forward and backward BLEU, {best.value:.3f}"
    )
    figure, (ax,) = style.panels(title, size=(7.4, 5.0))
    kinds: dict[str, list[tuple[float, Estimate, Estimate]]] = {}
    for each in forward:
        kind, number = _kind(each.setting["decoding"])
        kinds.setdefault(kind, []).append((number, each, estimates.of("backward", **each.setting)[0]))
    for series, (kind, points) in enumerate(kinds.items()):
        points = sorted(points, key=lambda point: point[0])
        _line(ax, [pair for _, *pair in points], series=series, label=kind)
        for number, x, y in points:
            ax.annotate(
                f"{number:g}",
                (x.value, y.value),
                NUMBER_AT[series % len(NUMBER_AT)],
                textcoords="offset points",
                fontsize=7,
                path_effects=[withStroke(linewidth=2, foreground="white")],
                zorder=5,
                color=style.COLOURS[series % 7],
                ha="center",
                va="center",
            )
    ax.set(xlabel="forward BLEU: is each sentence well formed?", ylabel="backward BLEU: is everything covered?")
    ax.legend(loc="lower left", title=_over(forward), title_fontsize=8)
    note(figure, "at each point: its temperature, or its p or k, whichever the legend names first")
    return figure


def _line(ax: Axes, points: Sequence[Sequence[Estimate]], *, series: int, label: str) -> None:
    """Pairs of estimates, each with its intervals, and a line that joins them."""
    xs, ys = zip(*points, strict=True)
    ax.errorbar(
        [e.value for e in xs],
        [e.value for e in ys],
        xerr=_ends(xs),
        yerr=_ends(ys),
        label=label,
        **look(series, linewidth=1.0),
    )


def _kind(decoding: str) -> tuple[str, float]:
    """The way in which a decoding cuts, and its number."""
    kind, _, temperature = decoding.partition("-t")
    if kind == "random":
        return "temperature", float(temperature or 1)
    name = kind.rstrip("0123456789.")
    said = name.replace("_", "-") + (f", temperature {temperature}" if temperature else "")
    return said, float(kind[len(name) :])


def openings(estimates: Estimates) -> Figure:
    """The share of sentences with the commonest opening, by decoding."""
    arms = _few(each.setting["arm"] for each in estimates.of("commonest_opening"))
    found = Estimates(each for each in estimates.of("commonest_opening") if each.setting["arm"] in arms)
    decodings = [name for name in DECODINGS if any(each.setting["decoding"] == name for each in found)]
    (real,) = estimates.of("commonest opening of real sentences")
    most = max(found, key=lambda e: e.value)
    title = (
        f"The commonest pair of first tokens begins {real.value:.0%} of the real sentences.\n"
        f"Of the sentences that the model {most.setting['arm']} writes with {joined(most.setting['decoding'])},\n"
        f"{most.value:.0%} begin with the pair that is commonest among them (mean over seeds)"
    )
    figure, (ax,) = style.panels(title, size=(7.2, 5.0))
    for series, arm in enumerate(arms):
        each = Estimates(
            e for name in decodings for e in found if (e.setting["arm"], e.setting["decoding"]) == (arm, name)
        )
        shift = 0.5 * (series - (len(arms) - 1) / 2) / max(len(arms), 2)
        bars(ax, each, [x + shift for x in range(len(each))], series=series, label=in_words(arm))
    ax.axhline(real.value, color=style.INK, linewidth=1, label="real sentences")
    named(ax, [called(name) for name in decodings], rotation=35, ha="right")
    ax.set(
        ylabel="share of a text's sentences\nthat begin with its commonest\npair of first tokens", ylim=(0, None)
    )
    below(figure, ncols=2, title=_over(found))
    return figure


def heads(estimates: Estimates) -> Figure:
    """The worth of each head of each arm, against the entropy of its weights."""
    every = list(dict.fromkeys(each.setting["arm"] for each in estimates.of("worth of a head")))
    # Other orders of the sentences and other beginnings leave the number of heads alone.
    arms = (
        every if len(every) <= MOST else [arm for arm in every if arm not in ("shuffled", "pretrained", "permuted")]
    )
    found = Estimates(each for each in estimates.of("worth of a head") if each.setting["arm"] in arms)
    most = max(found, key=lambda e: e.value)
    title = (
        f"Of all heads, one in layer {most.setting['layer']} of the model {most.setting['arm']} is missed most:\n"
        f"without it the test loss rises by {most.value:.2g} nats per token"
    )
    figure, axes = style.panels(title, 1, len(arms), size=(max(6.4, 1.2 + 2.2 * len(arms)), 4.6))
    for ax in axes[1:]:
        ax.sharex(axes[0])
        ax.sharey(axes[0])
    for series, (arm, ax) in enumerate(zip(arms, axes, strict=True)):
        each = estimates.of("worth of a head", arm=arm)
        bars(ax, each, [e.setting["entropy"] for e in each], series=series)
        ax.axhline(0, color=style.INK, linewidth=0.8)
        # A single head is worth a hundred times as much as one of many.
        ax.set_yscale("symlog", linthresh=0.005)
        ax.set_title(two_lines(arm), fontsize=9)
        ax.tick_params(labelleft=ax is axes[0])
    axes[0].set_ylabel("change of test loss without the head,\nnats per token (logarithmic from 0.005 on)")
    figure.supxlabel(
        f"entropy of the head's weights, as a share of that of equal weights\n{interval(found[0])}", fontsize=10
    )
    return figure


def _few(arms: Iterable[str]) -> list[str]:
    """The arms of a figure: all of them, or if there are too many, those that differ in what was learned."""
    every = list(dict.fromkeys(arms))
    return every if len(every) <= MOST else [arm for arm in every if arm in ("scratch", "shuffled", "pretrained")]


def _trade(estimates: Estimates, arm: str) -> str:
    every = estimates.of("forward", arm=arm)
    others = [e for e in every if e.setting["decoding"] != "random"]
    best = max(others or every, key=lambda e: e.value)
    backward = estimates.of("backward", **best.setting)[0].value
    drawn = joined(best.setting["decoding"])
    if len(others) in (0, len(every)):
        return f"With {drawn}, {arm} has a forward BLEU of {best.value:.2f} and a backward one of {backward:.2f}"
    plain = {score: estimates.of(score, arm=arm, decoding="random")[0].value for score in ("forward", "backward")}
    return (
        f"With {drawn} in place of {joined('random')},\n"
        f"the forward BLEU of {arm} {_moves(plain['forward'], best.value)}\n"
        f"and its backward BLEU {_moves(plain['backward'], backward)}"
    )


def _moves(before: float, after: float) -> str:
    verb = "rises" if after > before else "falls" if after < before else "goes"
    return f"{verb} from {before:.2f} to {after:.2f}"


def _from_to(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"


def _over(found: Estimates) -> str:
    """The words of a legend about intervals over seeds. Arms may have different numbers of seeds."""
    if all(e.draws == 1 for e in found):
        return "one seed, without an interval"
    return interval(found[0], f"of the mean over seeds, t, n = {_from_to([e.draws for e in found])}")


def _ends(found: Sequence[Estimate]) -> np.ndarray:
    return np.maximum([[e.value - e.interval.low for e in found], [e.interval.high - e.value for e in found]], 0)


def _cut_off(ax: Any, found: Sequence[Estimate]) -> None:
    """Set limits by the estimates. The intervals of two seeds would hide everything else."""
    low, high = min(e.value for e in found), max(e.value for e in found)
    room = max(high - low, 0.05 * high)
    ax.set_ylim(low - 0.8 * room, high + 0.8 * room)
