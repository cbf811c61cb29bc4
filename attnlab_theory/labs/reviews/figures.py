"""Pictures of training and of what was learned. Imports matplotlib: import this module where one is drawn."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from attnlab_theory.claims import Paired
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.plots import bars, below, control, controls, in_percent, interval, level, look, named
from attnlab_theory.labs.reviews.arms import BASE, BEST, SHARED
from attnlab_theory.labs.reviews.claims import COMMONER, STATEMENTS, THE_COMMONER_LABEL
from attnlab_theory.report import style


def curves(rows: Sequence[Mapping[str, Any]], base: str) -> Figure:
    """The accuracy on training and validation after every epoch, for every seed of one arm."""
    chosen = [row for row in rows if row["variant"] == base]
    last = max(row["epoch"] for row in chosen)
    ends = {
        which: sum(row[which] for row in chosen if row["epoch"] == last) / len({row["seed"] for row in chosen})
        for which in ("training accuracy", "validation accuracy")
    }
    said = " and ".join(f"{end:.1%} on {which.removesuffix(' accuracy')} reviews" for which, end in ends.items())
    seeds = len({row["seed"] for row in chosen})
    whose = f"the mean accuracy of {seeds} seeds is" if seeds > 1 else "accuracy is"
    figure, (ax,) = style.panels(f"After {last} epochs {whose}\n{said}", size=(6.4, 4.4))
    for series, which in enumerate(ends):
        for number, seed in enumerate(dict.fromkeys(row["seed"] for row in chosen)):
            points = [(row["epoch"], row[which]) for row in chosen if row["seed"] == seed]
            label = which if number == 0 else None
            ax.plot(*zip(*points, strict=True), label=label, **look(series, linewidth=1.2))
    ax.set(xlabel="epoch", ylabel="accuracy")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(loc="best", title="a line for each seed" if seeds > 1 else None, title_fontsize=9)
    return figure


def optimizers(estimates: Estimates) -> Figure:
    """The test accuracy of every optimizer, at the shared rate and at its own."""
    rates = {"AdamW's learning rate": SHARED, "the rate that validation chose with the first seed": BEST}
    name_of = {part: name for parts in rates.values() for name, part in parts.items()}
    found = Estimates(e for e in estimates.of("accuracy over seeds") if e.setting["part"] in name_of)
    names = list(dict.fromkeys(name_of[e.setting["part"]] for e in found))
    shown = {rate: Estimates(e for e in found if e.setting["part"] in p.values()) for rate, p in rates.items()}
    shown = {rate: chosen for rate, chosen in shown.items() if chosen}
    last = list(shown)[-1]
    said = ", ".join(f"{e.value:.1%} ({name_of[e.setting['part']]})" for e in shown[last])
    figure, (ax,) = style.panels(f"At {last},\nmean accuracy is {said}", size=(6.8, 4.6))
    place_of: dict[str, float] = {}
    for series, (rate, chosen) in enumerate(shown.items()):
        places = [names.index(name_of[e.setting["part"]]) + 0.2 * series - 0.1 for e in chosen]
        bars(ax, chosen, places, series=series, label=f"at {rate}")
        place_of |= {e.setting["part"]: place for e, place in zip(chosen, places, strict=True)}
    _the_commoner_label(ax, estimates)
    _the_compared(ax, estimates, place_of)
    named(ax, names)
    # Only where a grammar wrote the reviews is Bayes's rule known.
    is_drawn = any(each.quantity == "accuracy of Bayes's rule" for each in estimates)
    source = "\nthat a grammar wrote" if is_drawn else ""
    ax.set(ylabel=f"accuracy on test reviews{source}", xlim=(-0.5, len(names) - 0.5))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    told = f"{level(found[0])} interval of the mean over {max(e.draws for e in found)} seeds"
    below(figure, title=told)
    return figure


def _the_commoner_label(ax: Axes, estimates: Estimates) -> None:
    """A line at the accuracy of the classifier that learned nothing."""
    for beyond in [e for e in estimates if e.quantity == COMMONER and e.setting["part"] == BASE]:
        (base,) = estimates.of("accuracy over seeds", part=BASE)
        control(ax, base.value - beyond.value, THE_COMMONER_LABEL.what)


def _the_compared(ax: Axes, estimates: Estimates, places: Mapping[str, float]) -> None:
    """A short line at each model that is compared with another one, at the accuracy of the other."""
    for stated in STATEMENTS:
        for each in filter(stated.asks, estimates):
            if isinstance(stated.control, Paired) and "against" in each.setting and each.setting["part"] in places:
                (other,) = estimates.of("accuracy over seeds", part=each.setting["against"])
                at = places[each.setting["part"]]
                control(ax, other.value, stated.control.what, across=(at - 0.15, at + 0.15))


def searches(estimates: Estimates) -> Figure:
    """The best of n trials, and the winner's optimism, against n."""
    best, lucky = estimates.of("best of n"), estimates.of("optimism")
    luck = lucky[-1].interval
    title = (
        f"The best of {best[-1].setting['n']} trials of a hyperparameter search has a validation accuracy "
        f"of {best[-1].value:.1%}.\n"
        f"Of this, luck makes {100 * luck.low:.1f} to {100 * luck.high:.1f} percentage points "
        f"({level(lucky[-1])} interval)"
    ).replace("-", "−")
    figure, axes = style.panels(title, columns=2, size=(8.4, 4.4))
    for series, (ax, found, label) in enumerate(
        zip(
            axes,
            (best, lucky),
            (
                "best validation accuracy",
                "part of validation minus\ntest accuracy that comes from\nchoosing the best trial by luck",
            ),
            strict=True,
        )
    ):
        tried = [e.setting["n"] for e in found]
        bars(ax, found, tried, series=series, line=True)
        ax.set(xlabel="trials of a hyperparameter search", ylabel=label, xlim=(tried[0] - 0.5, tried[-1] + 0.5))
        # A point alone has one tick, none at fractions of a trial.
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    controls(axes[1], STATEMENTS, lucky, estimates)
    told = f"mean over all sets of so many of the {best[0].setting['trials']} trials; {interval(best[0])}"
    below(figure, title=told)
    return figure


def explanations(estimates: Estimates) -> Figure:
    """The agreement of explanations, and the effect of hiding or keeping their top tokens, against random ones."""
    models = max((e.draws for e in estimates if e.quantity == "mean rank correlation"), default=1)
    # One model is asked about reviews; several are drawn as the verdicts see them, over seeds.
    over = "mean " if models > 1 else ""
    quantities = ("rank correlation", "moved by hiding", "held by keeping")
    alike, moved, kept = (estimates.of(over + quantity) for quantity in quantities)
    ends = [by(moved, key=lambda e: e.value) for by in (min, max)]
    said = " to ".join(f"{e.value:.2f}".replace("-", "−") + f" ({e.setting['explanation']})" for e in ends)
    title = (
        "Hiding the tokens that an explanation ranks highest moves the probability of the answer\n"
        f"by {said} more, on average, than hiding random tokens does"
    )
    figure, axes = style.panels(title, columns=2, size=(9.0, 4.6))
    bars(axes[0], alike, range(len(alike)), series=0)
    controls(axes[0], STATEMENTS, alike, estimates)
    names = [e.setting["pair"].replace(", ", "\n") for e in alike]
    axes[0].set_xticks(range(len(alike)), names, fontsize=8)
    axes[0].set(
        title="How alike two explanations rank tokens",
        ylabel="rank correlation, mean over reviews",
        xlim=(-0.5, len(alike) - 0.5),
    )
    shown = (
        (moved, "top tokens hidden: how much more it changes than with random tokens hidden"),
        (kept, "only top tokens kept: how much less it changes than with only random tokens kept"),
    )
    for series, (found, label) in enumerate(shown):
        bars(axes[1], found, [x + 0.2 * series - 0.1 for x in range(len(found))], series=series, label=label)
    axes[1].set_xticks(range(len(moved)), [e.setting["explanation"] for e in moved], fontsize=8)
    controls(axes[1], STATEMENTS, Estimates((*moved, *kept)), estimates)
    axes[1].set(
        title="How much the top tokens matter",
        ylabel="change of probability,\ncompared with random tokens\n(above 0: top tokens matter more)",
        xlim=(-0.5, len(moved) - 0.5),
    )
    said = interval(alike[0], f"of the mean, t, {models} seeds" if over else "mean over reviews, one model")
    figure.legend(loc="outside lower right", fontsize=8, title=said, title_fontsize=8, alignment="left")
    return figure


def errors(estimates: Estimates) -> Figure:
    """Accuracy of reviews by length, and of those with and without negation and opposition."""
    lengths, kinds = estimates.of("accuracy by length"), estimates.of("accuracy by kind")
    least = [e.setting["least"] for e in lengths]
    groups = [*(f"{low} to {high - 1}" for low, high in itertools.pairwise(least)), f"{least[-1]} or more"]
    by_length = _lowest(lengths, [f"of {group} words" for group in groups])
    by_kind = _lowest(kinds, [f"{'with' if e.setting['has'] else 'without'} {e.setting['kind']}" for e in kinds])
    title = f"By length, the lowest measured accuracy is {by_length};\nby kind, it is {by_kind}"
    figure, axes = style.panels(title, columns=2, size=(8.4, 4.4))
    bars(axes[0], lengths, range(len(lengths)), series=0)
    axes[0].set_xticks(range(len(least)), [re.sub(" (to|or) ", r" \1\n", group) for group in groups], fontsize=8)
    axes[0].set(
        xlabel="length of a review, in words", ylabel=f"reviews labelled right ({level(kinds[0])} intervals)"
    )
    bars(axes[1], kinds, range(len(kinds)), series=1)
    names = [f"{'with' if e.setting['has'] else 'without'}\n{e.setting['kind']}" for e in kinds]
    axes[1].set_xticks(range(len(kinds)), names, fontsize=8)
    told = "negation: not, never, …\nopposition: but, although, …"
    axes[1].set(
        xlabel=told, ylabel=f"reviews labelled right ({level(kinds[0])} intervals)", xlim=(-0.5, len(kinds) - 0.5)
    )
    for ax in axes:
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def _lowest(found: Estimates, names: Sequence[str]) -> str:
    """The lowest accuracy as it is printed, and the names of all groups that have it."""
    printed = [f"{e.value:.1%}" for e in found]
    lowest = f"{min(e.value for e in found):.1%}"
    groups = " and those ".join(name for name, own in zip(names, printed, strict=True) if own == lowest)
    return f"{lowest} (reviews {groups})"


def confidence(estimates: Estimates) -> Figure:
    """Accuracy against confidence, group by group."""
    found = estimates.of("accuracy by confidence")
    (gap,) = estimates.of("confidence less accuracy")
    low, high = 100 * gap.interval.low, 100 * gap.interval.high
    title = (
        "Over all reviews, mean confidence minus accuracy lies between\n"
        f"{low:.1f} and {high:.1f} percentage points ({level(gap)} interval)"
    )
    figure, (ax,) = style.panels(title.replace("-", "−"), size=(6.0, 4.8))
    bars(ax, found, [e.setting["confidence"] for e in found], series=0)
    ax.plot([0.5, 1], [0.5, 1], color=style.INK, linewidth=0.8, label="confidence is accuracy")
    ax.set(
        xlabel="mean confidence of a group\n(reviews are grouped by confidence)",
        ylabel=f"accuracy of the group ({level(gap)} intervals)",
    )
    _the_commoner_label(ax, estimates)
    in_percent(figure, ax)
    below(figure)
    return figure
