"""Pictures of what models know. Imports matplotlib: import this module where one is drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge.accuracy import PUBLISHED
from attnlab_theory.language.text.characters import MASK
from attnlab_theory.report import style

LONGEST_LABEL = 24
"""Characters of a name below a point."""


def accuracy_by_variant(estimates: Estimates, group: str = "held-out") -> Figure:
    """A point per seed, the mean over seeds with its interval, and the published range behind."""
    means = estimates.of("mean accuracy", group=group)
    seeds = max(e.draws for e in means)
    said = ", ".join(f"{e.setting['variant']} {e.value:.0%}" for e in means)
    title = f"{group.capitalize()} persons answered right: {said}"
    figure, (ax,) = style.panels(title, size=(6.8, 4.4))
    for x, each in enumerate(means):
        published = PUBLISHED.get(each.setting["variant"])
        if published:
            height = published.highest - published.lowest
            ax.bar(x, height, 0.66, bottom=published.lowest, color="#e2e2e2", edgecolor="#999999", hatch="////")
            ax.hlines(published.median, x - 0.33, x + 0.33, color="#555555", linewidth=1.2)
        points = estimates.of("accuracy", group=group, variant=each.setting["variant"])
        ax.plot(np.full(len(points), x - 0.12), [p.value for p in points], "o", color=style.COLOURS[0], mfc="none")
        shown = each if seeds > 1 else points[0]
        _bars(ax, Estimates([shown]), [x + 0.12], series=1)
    labels = [f"{e.setting['variant']}\n{e.value:.1%}" for e in means]
    ax.set_xticks(range(len(means)), labels)
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="variant, and its mean accuracy", ylabel=f"right answers, {group} persons", ylim=(-0.02, 1.02))
    interval = f"mean of {seeds} seeds, {_level(means[0])} t interval" if seeds > 1 else "Clopper-Pearson interval"
    legend = [Patch(facecolor="#e2e2e2", edgecolor="#999999", hatch="////")]
    legend += [ax.plot([], [], "o", color=style.COLOURS[0], mfc="none")[0]]
    legend += [ax.plot([], [], style.MARKERS[1], color=style.COLOURS[1], mfc="white")[0]]
    names = ["published (homework data): range, median", "one seed", interval]
    figure.legend(legend, names, loc="outside lower left", ncols=3, fontsize=8)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def accuracy_of_files(estimates: Estimates, published: str | None = None) -> Figure:
    """The accuracy of each file of predictions with its interval, in their order.

    Args:
        estimates: from `predicted.scored`.
        published: the variant whose published range is drawn behind.
    """
    found = estimates.of("accuracy")
    labels = [_as_written(e.setting["label"]) for e in found]
    pairs = [*zip(labels, found, strict=True)]
    said = ", ".join(f"{e.value:.1%} ({label})" for label, e in pairs[:1] + pairs[1:][-1:])
    title = f"{found[0].draws} questions answered right: {said}"
    figure, (ax,) = style.panels(title, size=(max(5.6, 0.9 * len(found) + 1.6), 4.4))
    if published:
        range_of = PUBLISHED[published]
        highest = " (the highest told in a README)" if range_of.told else ""
        label = f"published, {published}: median of {range_of.models} models, and range{highest}"
        ax.axhspan(range_of.lowest, range_of.highest, color="#e6e6e6", linewidth=0, label=label)
        ax.axhline(range_of.median, color="#555555", linewidth=1.2)
    places = [float(x) for x in range(len(found))]
    _bars(ax, found, places, series=0, label=f"{_level(found[0])} Clopper-Pearson interval")
    crowded = max(map(len, labels)) * len(labels) > 60
    ax.set_xticks(places, labels, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    ax.grid(visible=False, axis="x")
    ax.set(ylabel="right answers", xlim=(-0.5, len(found) - 0.5))
    ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    figure.legend(loc="outside lower left", ncols=1, fontsize=8)
    return figure


def reliability(estimates: Estimates) -> Figure:
    """Accuracy against confidence, in bins of equally many answers."""
    variants = _variants(estimates.of("accuracy at confidence"))
    bins = estimates.of("accuracy at confidence", variant=variants[-1])
    off = float(np.average([b.setting["confidence"] - b.value for b in bins], weights=[b.draws for b in bins]))
    word = "too confident" if off > 0 else "not confident enough"
    figure, (ax,) = style.panels(
        f"{variants[-1]} is {word}, by {100 * abs(off):.0f} points on average", size=(5.6, 4.6)
    )
    ax.plot([0, 1], [0, 1], color="#777777", linewidth=1, label="calibrated")
    for series, variant in enumerate(variants):
        bins = estimates.of("accuracy at confidence", variant=variant)
        _bars(ax, bins, [b.setting["confidence"] for b in bins], series=series, label=variant, line=True)
    ax.set(xlabel="confidence: probability of the whole answer", ylabel=f"right answers, {_groups(bins)}")
    ax.set_ylim(-0.02, 1.02)
    ax.legend(loc="upper left", title=f"{_level(bins[0])} intervals", title_fontsize=9)
    return _in_percent(figure, ax)


def abstention(estimates: Estimates) -> Figure:
    """Accuracy against coverage, where the model keeps silent below a confidence."""
    variants = _variants(estimates.of("accuracy of the surest"))
    curve = estimates.of("accuracy of the surest", variant=variants[-1])
    half = min(curve, key=lambda e: abs(e.setting["coverage"] - 0.5))
    title = (
        f"Answering its surest {half.setting['coverage']:.0%} lifts {variants[-1]} "
        f"from {curve[-1].value:.0%} to {half.value:.0%} right"
    )
    figure, (ax,) = style.panels(title, size=(6.4, 4.4))
    for series, variant in enumerate(variants):
        curve = estimates.of("accuracy of the surest", variant=variant)
        xs = [e.setting["coverage"] for e in curve]
        colour, dash = style.COLOURS[series % 7], style.DASHES[series % 7]
        ax.plot(xs, [e.value for e in curve], color=colour, linestyle=dash, label=variant)
        ends = [e.interval.low for e in curve], [e.interval.high for e in curve]
        ax.fill_between(xs, *ends, color=colour, alpha=0.15, linewidth=0)
    ax.set(xlabel="coverage: share of questions answered", ylabel=f"right among those answered,\n{_groups(curve)}")
    ax.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    ax.legend(loc="best", title=f"{_level(curve[0])} at each point", title_fontsize=9)
    return _in_percent(figure, ax)


def confidences(estimates: Estimates) -> Figure:
    """How confident right and wrong answers are, a panel per variant."""
    variants = _variants(estimates.of("share at confidence"))
    areas = {e.setting["variant"]: e for e in estimates if e.quantity == "auroc"}
    known = [f"{v} {areas[v].value:.2f}" for v in variants if v in areas]
    title = "A right answer is the surer one with probability " + ", ".join(known) if known else "Confidences"
    figure, axes = style.panels(title, 1, len(variants), size=(3.4 * len(variants) + 0.6, 3.6))
    for ax, variant in zip(axes, variants, strict=True):
        for right, series, hatch in ((False, 1, "////"), (True, 0, "")):
            bins = [e for e in estimates.of("share at confidence", variant=variant) if e.setting["right"] == right]
            if not bins:
                continue
            colour = style.COLOURS[series]
            edges = [b.setting["low"] for b in bins] + [bins[-1].setting["high"]]
            label = f"{'right' if right else 'wrong'} ({bins[0].draws})"
            look = {"edgecolor": colour, "facecolor": (colour, 0.15), "hatch": hatch, "linewidth": 1.4}
            ax.stairs([b.value for b in bins], edges, fill=True, label=label, **look)
        ax.set(xlabel="confidence", title=variant, xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(loc="upper center")
        _in_percent(figure, ax)
    axes[0].set_ylabel(f"share of such answers,\n{_groups(estimates.of('share at confidence'))}")
    return figure


def learning_curves(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and held-out accuracy against the step, a line per variant and seed.

    Accuracies that are known at one step only, the last, are told in the title and have no panel.

    Args:
        rows: each with `variant`, `seed`, `step`, and `loss` (nats) or `accuracy` (of held-out persons) or both.

    Raises:
        ValueError: if no row has a loss, or none an accuracy.
    """
    for field in ("loss", "accuracy"):
        if not any(row.get(field) is not None for row in rows):
            raise ValueError(f"a learning curve needs rows with {field!r}, and none of these {len(rows)} has one")
    losses, accuracies = (_by_model(rows, field) for field in ("loss", "accuracy"))
    variants = list(dict.fromkeys(variant for variant, _ in (*losses, *accuracies)))
    ends = {variant: (_end(losses, variant, ".2f"), _end(accuracies, variant, ".0%")) for variant in variants}
    said = "; ".join(f"{variant} {', '.join(filter(None, each))}" for variant, each in ends.items())
    curves = [losses, accuracies] if max(map(len, accuracies.values())) > 1 else [losses]
    title = f"Loss at the end, and held-out persons answered right: {said}"
    figure, axes = style.panels(title, 1, len(curves))
    for ax, models in zip(axes, curves, strict=True):
        labelled: set[str] = set()
        for (variant, _), points in models.items():
            series = variants.index(variant)
            look = {"color": style.COLOURS[series % 7], "linestyle": style.DASHES[series % 7]}
            ax.plot(
                *zip(*points, strict=True), **look, label=None if variant in labelled else variant, linewidth=1.3
            )
            labelled.add(variant)
        ax.set_xlabel("step")
    axes[0].set(ylabel="loss, nats per character", yscale="log")
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter(lambda loss, _: f"{loss:g}" if f"{loss:e}"[0] in "235" else "")
    for ax in axes[1:]:
        ax.set(ylabel="right answers, held-out persons", ylim=(-0.02, 1.02))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[-1].legend(loc="best")
    return figure


def attention_map(weights: Float[np.ndarray, "t t"], characters: str, *, name: str, head: str) -> Figure:
    """The weights of a head over a question and its answer, and how much of them lies on the name.

    Args:
        weights: each row, what its character looks at.
        characters: one for each row, the question, its mark and the answer.
        name: of the person asked for, as it stands in `characters`.
        head: which head this is.

    Raises:
        ValueError: if the characters are not as many as the rows, or do not hold the name and a mark behind it.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(characters), len(characters)):
        raise ValueError(f"{len(characters)} characters need as many rows and columns, not {weights.shape}")
    # As a word first: the letters of a short name may stand in the question as well.
    start = max(characters.find(f" {name} ") + 1, 0) or characters.find(name)
    if start < 0 or not name:
        raise ValueError(f"{characters!r} does not hold the name {name!r}")
    end = start + len(name)
    mark = characters.find(MASK, end)
    if mark < 0:
        raise ValueError(f"{characters!r} has no mark {MASK} behind the question; give the mark and the answer too")
    # The row of the mark decides the first letter; what a closing mark looks at decides nothing.
    answering = weights[mark : max(mark + 1, len(characters.removesuffix(MASK)))]
    on_name = float(np.mean(np.sum(answering[:, start:end], axis=1)))
    title = f"{head}: while answering, {on_name:.0%} of the weight lies on the name"
    figure, (ax,) = style.panels(title, size=(7.0, 6.2))
    image = ax.imshow(np.where(np.tri(len(characters), dtype=bool), weights, np.nan), norm=PowerNorm(0.5, 0, 1))
    figure.colorbar(image, ax=ax, label="attention weight (square-root scale)", shrink=0.8)
    shown = [character if character != " " else "␣" for character in characters]
    ax.set_xticks(range(len(shown)), shown, fontsize=7)
    ax.set_yticks(range(len(shown)), shown, fontsize=7)
    for edge in (start - 0.5, end - 0.5):
        ax.axvline(edge, color=style.COLOURS[1], linewidth=1, linestyle="--")
    ax.grid(visible=False)
    ax.set(ylabel="character that looks")
    ax.set(xlabel=f"character looked at (dashed: {_as_written(name)}; {MASK}: mark that asks for the answer)")
    return figure


FIGURES: dict[str, Callable[[Estimates], Figure]] = {
    "accuracy_by_variant": accuracy_by_variant,
    "reliability": reliability,
    "abstention": abstention,
    "confidences": confidences,
}
"""Those that need nothing but estimates."""


def _bars(
    ax: Axes, found: Estimates, xs: Sequence[float], *, series: int, label: str | None = None, line: bool = False
) -> None:
    """Estimates at the given places with their intervals, which need not be centred on them."""
    values = np.array([e.value for e in found])
    ends = np.array([(e.value - e.interval.low, e.interval.high - e.value) for e in found]).T
    ax.errorbar(
        xs,
        values,
        yerr=np.maximum(ends, 0),
        label=label,
        fmt=style.MARKERS[series % 7],
        color=style.COLOURS[series % 7],
        markerfacecolor="white",
        linestyle=style.DASHES[series % 7] if line else "",
        linewidth=1.2,
    )


def _as_written(label: str) -> str:
    """A label without the meaning that matplotlib gives to dollars, and cut where it would cover its neighbours."""
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return short.replace("$", r"\$")


def _variants(estimates: Estimates) -> list[str]:
    return list(dict.fromkeys(e.setting["variant"] for e in estimates))


def _groups(estimates: Estimates) -> str:
    return f"{estimates[0].setting['groups']} persons"


def _level(estimate: Estimate) -> str:
    return f"{100 * (1 - estimate.error_rate):.10g}%"


def _by_model(rows: Sequence[Mapping[str, Any]], field: str) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """What is known of the field, with its step, for every variant and seed."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row.get(field) is not None:
            found.setdefault((row["variant"], row["seed"]), []).append((float(row["step"]), float(row[field])))
    return found


def _end(curves: Mapping[tuple[str, int], Sequence[tuple[float, float]]], variant: str, form: str) -> str:
    """Where a variant's curves end, on average over its seeds; nothing if it has none."""
    ends = [points[-1][1] for (of, _), points in curves.items() if of == variant]
    return format(float(np.mean(ends)), form) if ends else ""


def _in_percent(figure: Figure, ax: Axes) -> Figure:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    return figure
