"""Pictures of what models write. Imports matplotlib: import this module where one is drawn."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, MaxNLocator

from attnlab_theory.claims import Paired
from attnlab_theory.labs.captions.arms import DECODINGS
from attnlab_theory.labs.captions.claims import BY_A_UNIGRAM, STATEMENTS
from attnlab_theory.labs.captions.names import MEANT, called, in_words, joined, quoted, two_lines
from attnlab_theory.labs.estimates import OVER_GENERATIONS, Estimate, Estimates
from attnlab_theory.labs.perplexity import UNIGRAM
from attnlab_theory.labs.plots import bars, below, control, far_control, interval, look, named, note
from attnlab_theory.report import style

BEHIND_WORDS = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}

FORWARD = "forward BLEU: is each generated sentence well formed?"

BACKWARD = "backward BLEU: do the generated sentences\ncover the real ones?"

MOST = 5
"""The most arms in one figure."""

MANY = 40
"""From so many heads in a panel on, they are drawn thinner."""

AROUND = tuple((13 * np.cos(turn), 10 * np.sin(turn)) for turn in np.pi * np.arange(16) / 8)
"""Places for a number around its point, in points."""


def perplexities(estimates: Estimates) -> Figure:
    """Both perplexities of every arm, beside each other."""
    by_sentence, by_token = (estimates.of(f"perplexity of {what}") for what in ("sentences", "tokens"))
    arms = [each.setting["arm"] for each in by_sentence]
    best = min(by_sentence, key=lambda e: e.value)
    name = quoted(best.setting["arm"])
    has = f"Of these models, {name.removeprefix('the model ')} has the lowest measured perplexity"
    title = (
        f"{has if len(arms) > 1 else f'T{name[1:]} has a measured perplexity'}\n"
        f"on test sentences: {best.value:.3g}, if each sentence weighs the same"
    )
    figure, (ax,) = style.panels(title, size=(max(6.4, 1.1 * len(arms) + 1.5), 4.6))
    for series, (found, label) in enumerate(
        (
            (by_sentence, "each sentence weighs the same: the loss is averaged within it, then over sentences"),
            (by_token, "each token weighs the same: the loss is averaged over all tokens"),
        )
    ):
        _points(ax, found, [x + 0.24 * series - 0.12 for x in range(len(arms))], series=series, label=label)
    named(ax, [two_lines(arm) for arm in arms], fontsize=8)
    ax.set(ylabel="perplexity on test sentences\n(exp of the mean loss)", xlim=(-0.6, len(arms) - 0.4))
    _cut_off(ax, by_sentence + by_token)
    _the_base(ax, estimates, by_token)
    _explained(figure, by_sentence)
    return figure


def _the_base(ax: Axes, estimates: Estimates, by_token: Estimates) -> None:
    """Lines at the perplexities of the arm with which others are compared, and of a model without context."""
    perplexity = {e.setting["arm"]: e.value for e in by_token}
    for stated in STATEMENTS:
        for each in filter(stated.asks, estimates):
            if stated.quantity == "test loss gained" and isinstance(stated.control, Paired):
                what = f"{stated.control.what} (each token weighs the same)"
                control(ax, perplexity[each.setting["against"]], what)
    for unigram in [e for e in estimates if e.quantity == UNIGRAM]:
        far_control(ax, float(np.exp(unigram.value)), BY_A_UNIGRAM.what)


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
    title = (
        f"Validation loss is lowest after {said}"
        if max(seeds) == 1
        else f"On average over {_from_to(seeds)} seeds, validation loss is lowest\nafter {said}"
    )
    # Many lines lie on each other: then every arm has a panel.
    apart = len(arms) > 1 < max(seeds)
    figure, axes = style.panels(
        title, 1, len(arms) if apart else 1, size=(max(6.8, 1.2 + 2.2 * len(arms)) if apart else 6.8, 4.4)
    )
    for ax in axes[1:]:
        ax.sharex(axes[0])
        ax.sharey(axes[0])
        ax.tick_params(labelleft=False)
    for series, arm in enumerate(arms):
        ax = axes[series if apart else 0]
        if apart:
            ax.set_title(two_lines(arm, 22), fontsize=9)
        for place, rows in enumerate(_by_seed(curves, arm).values()):
            # Lines that coincide: the lower one has larger markers.
            size = 4.5 if apart else 9 - 1.5 * series
            told = look(series, linewidth=1.2, markerfacecolor="none", markersize=size)
            ax.plot(
                [row["epoch"] for row in rows],
                [row["loss"] for row in rows],
                label=None if place else in_words(arm),
                **told,
            )
            lowest = min(rows, key=lambda row: row["loss"])
            ax.plot(lowest["epoch"], lowest["loss"], **{**told, "markerfacecolor": told["color"]})
    for ax in axes:
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("validation loss, nats per token")
    left_out = [arm for arm in dict.fromkeys(row["arm"] for row in curves) if arm not in arms]
    said = ["a line for each seed"] if max(seeds) > 1 else []
    said.append("filled: the epoch of the lowest loss")
    if left_out:
        said.append(f"{len(arms)} of the {len(arms) + len(left_out)} models are drawn")
    note(figure, "; ".join(said))
    if not apart:
        axes[0].legend(loc="upper right")
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
    figure, (ax,) = style.panels(_trade(estimates, arms[0]), size=(7.0, 5.0 + 0.2 * len(arms)))
    lines = {
        arm: sorted(
            ((e, estimates.of("backward", **e.setting)[0]) for e in estimates.of("forward", arm=arm)),
            key=lambda pair: pair[0].value,
        )
        for arm in arms
    }
    for series, (arm, points) in enumerate(lines.items()):
        # Points that coincide: the lower one has a larger marker.
        size = 4.5 + 1.5 * (len(lines) - 1 - series)
        _line(ax, points, series=series, label=in_words(arm), markersize=size, markerfacecolor="none")
    _at_random(ax, estimates, arms)
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
    ax.set(xlabel=FORWARD, ylabel=BACKWARD)
    ax.margins(0.2, 0.12)
    orders = {tuple(x.setting["decoding"] for x, _ in points) for points in lines.values()}
    if len(orders) == 1 < len(lines):
        (order,) = orders
        note(figure, f"on each line, from left to right: {'; '.join(map(joined, order))}")
    # Below the panel: lines may go through all of it.
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.13), title=_over(forward), title_fontsize=8, alignment="left")
    return figure


def _frontier(estimates: Estimates, arm: str) -> Figure:
    """The same for many decodings of one arm: a line for every way to cut, along its number."""
    forward = estimates.of("forward", arm=arm)
    best = max(estimates.of("harmonic", arm=arm), key=lambda e: e.value)
    title = (
        f"Of these ways to sample, {called(best.setting['decoding']).replace(', ', ' with ')} has the highest\n"
        f"harmonic mean of forward and backward BLEU, {best.value:.3f} ({quoted(arm)})"
    )
    figure, (ax,) = style.panels(title, size=(8.0, 5.6))
    kinds: dict[str, list[tuple[float, Estimate, Estimate]]] = {}
    numbers: list[tuple[float, float, float, int]] = []
    drawn: list[list[tuple[float, float]]] = []
    for each in forward:
        kind, number = _kind(each.setting["decoding"])
        kinds.setdefault(kind, []).append((number, each, estimates.of("backward", **each.setting)[0]))
    for series, (kind, points) in enumerate(kinds.items()):
        points = sorted(points, key=lambda point: point[0])
        _line(ax, [pair for _, *pair in points], series=series, label=kind)
        numbers += [(number, x.value, y.value, series) for number, x, y in points]
        drawn.append([(x.value, y.value) for _, x, y in points])
        for _, x, y in points:
            drawn.append([(x.interval.low, y.value), (x.interval.high, y.value)])
            drawn.append([(x.value, y.interval.low), (x.value, y.interval.high)])
    _at_random(ax, estimates, [arm])
    ax.set(xlabel=FORWARD, ylabel=BACKWARD)
    _numbered(ax, numbers, drawn)
    ax.legend(loc="lower left", title=_over(forward), title_fontsize=8, alignment="left")
    at = "number at a point: its temperature, p or k"
    cuts = [f'of "{kind}": {kind.partition(",")[0][-1]}' for kind in kinds if "," in kind]
    said = [f"{at} ({'; '.join(cuts)})" if cuts else at]
    if arm in MEANT:
        said.append(f'"{arm}": {MEANT[arm]}')
    note(figure, "\n".join(said))
    return figure


def _at_random(ax: Axes, estimates: Estimates, arms: Sequence[str]) -> None:
    """Both scores of the decoding with which others are compared, a cross for every arm in its colour."""
    for series, arm in enumerate(arms):
        own = {"color": style.COLOURS[series % 7], "linewidth": 0.9, "alpha": 0.6}
        for level, what in dict.fromkeys((level, what) for _, level, what in _compared(estimates, "backward", arm)):
            control(ax, level, what, **own)
        for level in dict.fromkeys(level for _, level, _ in _compared(estimates, "forward", arm)):
            ax.axvline(level, linestyle=":", **own)


def _numbered(
    ax: Axes, points: Sequence[tuple[float, float, float, int]], drawn: Sequence[Sequence[tuple[float, float]]]
) -> None:
    """Numbers beside points, each where the most room is left.

    Args:
        ax: whose limits are set.
        points: number, x, y and series of each.
        drawn: the ends of all lines between and through points.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()

    def placed(pairs: Sequence[tuple[float, float]]) -> np.ndarray:
        return ax.transData.transform(pairs) * 72 / figure.dpi

    steps = np.linspace(0, 1, 50)[:, None]
    lines = [a + steps * (b - a) for ends in drawn for a, b in itertools.pairwise(placed(ends))]
    places = placed([(x, y) for _, x, y, _ in points])
    taken = np.concatenate([places, *lines])
    for place, (number, x, y, series) in zip(places, points, strict=True):
        # A number is about twice as wide as high.
        room = [float(np.min(np.hypot(*((taken - place - at) / (2, 1)).T))) for at in AROUND]
        at = AROUND[int(np.argmax(room))]
        taken = np.concatenate([taken, [place + at]])
        ax.annotate(
            f"{number:g}",
            (x, y),
            at,
            textcoords="offset points",
            fontsize=7,
            path_effects=[withStroke(linewidth=2, foreground="white")],
            zorder=5,
            color=style.COLOURS[series % 7],
            ha="center",
            va="center",
        )


def _line(ax: Axes, points: Sequence[Sequence[Estimate]], *, series: int, label: str, **others: Any) -> None:
    """Pairs of estimates, each with its intervals, and a line that joins them."""
    xs, ys = zip(*points, strict=True)
    ends = {} if _alone(xs) else {"xerr": _ends(xs), "yerr": _ends(ys)}
    ax.errorbar(
        [e.value for e in xs],
        [e.value for e in ys],
        label=label,
        **ends,
        **look(series, linewidth=1.0, **others),
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
        f"{real.value:.0%} of the real sentences begin with their commonest pair of tokens.\n"
        f"Of the sentences by {quoted(most.setting['arm'])} ({joined(most.setting['decoding'])}),\n"
        f"{most.value:.0%} begin with the commonest pair among them{_mean(most)}"
    )
    figure, (ax,) = style.panels(title, size=(7.2, 5.0 + 0.2 * len(arms)))
    for series, arm in enumerate(arms):
        each = Estimates(
            e for name in decodings for e in found if (e.setting["arm"], e.setting["decoding"]) == (arm, name)
        )
        shift = 0.5 * (series - (len(arms) - 1) / 2) / max(len(arms), 2)
        _points(ax, each, [x + shift for x in range(len(each))], series=series, label=in_words(arm))
        for decoding, level, what in _compared(estimates, "commonest_opening", arm):
            at = decodings.index(decoding) + shift
            control(ax, level, what, across=(at - 0.2 / len(arms), at + 0.2 / len(arms)))
    ax.axhline(real.value, color=style.INK, linewidth=1, label="real sentences")
    named(ax, [called(name) for name in decodings], rotation=35, ha="right")
    ax.set(
        ylabel="share of a text's sentences\nthat begin with its commonest\npair of first tokens", ylim=(0, None)
    )
    _explained(figure, found)
    return figure


def _compared(estimates: Estimates, score: str, arm: str) -> Iterator[tuple[str, float, str]]:
    """The decodings that a statement compares with another one of the same arm: the other's score, and its name."""
    for stated in STATEMENTS:
        for each in filter(stated.asks, estimates):
            if stated.quantity == f"{score} gained" and each.setting["arm"] == arm and "decoding" in each.setting:
                (other,) = estimates.of(score, arm=arm, decoding=each.setting["against"])
                assert isinstance(stated.control, Paired)
                yield each.setting["decoding"], other.value, stated.control.what


def heads(estimates: Estimates) -> Figure:
    """The worth of each head of each arm, against the entropy of its weights."""
    every = list(dict.fromkeys(each.setting["arm"] for each in estimates.of("worth of a head")))
    # Other orders of the sentences and other beginnings leave the number of heads alone.
    arms = (
        every if len(every) <= MOST else [arm for arm in every if arm not in ("shuffled", "pretrained", "permuted")]
    )
    found = Estimates(each for each in estimates.of("worth of a head") if each.setting["arm"] in arms)
    most = max(found, key=lambda e: e.value)
    there = [e for e in found if all(e.setting[of] == most.setting[of] for of in ("arm", "seed", "layer"))]
    which = f"{'the only' if len(there) == 1 else 'a'} head in layer {most.setting['layer']}"
    title = (
        f"Removing {which} of {quoted(most.setting['arm'])}\n"
        f"raises the test loss most, by {most.value:.2g} nats per token"
        if most.value > 0
        else "Removing any one head of these models\ndoes not raise the measured test loss"
    )
    figure, axes = style.panels(title, 1, len(arms), size=(max(6.4, 1.2 + 2.2 * len(arms)), 4.8))
    for ax in axes[1:]:
        ax.sharex(axes[0])
        ax.sharey(axes[0])
    axes[0].errorbar([], [], yerr=[], fmt="o", color=style.INK, markerfacecolor="white", label=interval(found[0]))
    for series, (arm, ax) in enumerate(zip(arms, axes, strict=True)):
        each = estimates.of("worth of a head", arm=arm)
        ax.errorbar(
            [e.setting["entropy"] for e in each],
            [e.value for e in each],
            yerr=_ends(each),
            # Of several models there are so many that their intervals would cover all.
            **look(series, linestyle="", markersize=4.5 if len(each) <= MANY else 3),
            **({} if len(each) <= MANY else {"elinewidth": 0.4, "capsize": 0}),
        )
        if most in each and most.value > 0:
            at = most.setting["entropy"], most.value
            told = {"markersize": 12, "markerfacecolor": "none", "linestyle": "", "label": "the head in the title"}
            ax.plot(*at, marker="o", color=style.INK, **told)
        ax.axhline(0, color=style.INK, linewidth=0.8)
        # A single head is worth a hundred times as much as one of many.
        ax.set_yscale("symlog", linthresh=0.005)
        ax.yaxis.set_major_locator(FixedLocator([0, *(sign * 10.0**n for sign in (-1, 1) for n in range(-2, 3))]))
        ax.set_title(two_lines(arm, 22), fontsize=9)
        ax.tick_params(labelleft=ax is axes[0])
        ax.set_xlabel("entropy of the head's weights,\nas a share of that\nof equal weights", fontsize=8)
    axes[0].set_ylabel("change of test loss without the head,\nnats per token (logarithmic from 0.005 on)")
    seeds = [len({e.setting["seed"] for e in found if e.setting["arm"] == arm}) for arm in arms]
    told = (
        f"each panel: the heads of {_from_to(seeds)} models, which differ in the seed" if max(seeds) > 1 else None
    )
    below(figure, ncols=2, title=told)
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
        return (
            f"With {drawn}, {quoted(arm)} has\n"
            f"a forward BLEU of {best.value:.2f} and a backward BLEU of {backward:.2f}"
        )
    plain = {score: estimates.of(score, arm=arm, decoding="random")[0].value for score in ("forward", "backward")}
    return (
        f"With {drawn} in place of {joined('random')},\n"
        f"the forward BLEU of {quoted(arm)} {_moves(plain['forward'], best.value)}\n"
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
    if _alone(found):
        return "one seed, so there are no intervals"
    return interval(found[0], f"of the mean over {_runs(found[0])}, t, n = {_from_to([e.draws for e in found])}")


def _mean(estimate: Estimate) -> str:
    """Over what a number is averaged, in brackets, if it is."""
    return f" (mean over {_runs(estimate)})" if estimate.draws > 1 else ""


def _runs(estimate: Estimate) -> str:
    of_one = estimate.bound == f"{OVER_GENERATIONS.name}: {OVER_GENERATIONS.assumption}"
    return "sets of sentences by one model" if of_one else "seeds"


def _alone(found: Sequence[Estimate]) -> bool:
    """Whether every number is a single one. Then nothing is known of others."""
    return all(e.draws == 1 for e in found)


def _points(ax: Axes, found: Estimates, xs: Sequence[float], *, series: int, label: str) -> None:
    """Estimates with their intervals, if they have any."""
    if _alone(found):
        ax.plot(xs, [e.value for e in found], label=label, **look(series, linestyle=""))
    else:
        bars(ax, found, xs, series=series, label=label)


def _explained(figure: Figure, found: Estimates) -> None:
    """A legend below all panels, and a line about intervals at its left."""
    below(figure, title=_over(found))


def _ends(found: Sequence[Estimate]) -> np.ndarray:
    return np.maximum([[e.value - e.interval.low for e in found], [e.interval.high - e.value for e in found]], 0)


def _cut_off(ax: Any, found: Sequence[Estimate]) -> None:
    """Set limits by the estimates. The intervals of two seeds would hide everything else."""
    low, high = min(e.value for e in found), max(e.value for e in found)
    room = max(high - low, 0.05 * high)
    ax.set_ylim(low - 0.8 * room, high + 0.8 * room)
