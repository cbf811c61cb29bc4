"""Pictures of what models know. Imports matplotlib: import this module where one is drawn."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from attnlab_theory.claims import Beyond
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge.arms import PRETRAINED, UNTRAINED
from attnlab_theory.labs.knowledge.claims import COMMONEST, STATEMENTS
from attnlab_theory.labs.knowledge.lookup import Map
from attnlab_theory.labs.plots import as_written, bars, below, control, in_percent, interval, level, named, note
from attnlab_theory.language.text.characters import MASK
from attnlab_theory.report import style

MEANT = {"vanilla": "learned positions", "rope": "rotary positions"}
"""The meaning of the arms' names."""

GROUPS = {
    "held-out": "persons in the pretraining text who are not in the finetuning data",
    "finetuned": "persons whose birthplace finetuning teaches",
    "never-seen": "persons in no text that the model has read",
}
"""The meaning of the groups' names."""


def accuracy_by_arm(estimates: Estimates, group: str = "held-out") -> Figure:
    """Accuracy by arm: a point for each seed, and the mean over seeds with its interval."""
    means = estimates.of("mean accuracy", group=group)
    seeds = max(e.draws for e in means)
    said = ", ".join(f"{e.value:.1%} ({_called(e.setting['variant'])})" for e in means)
    title = f"Models name the birthplaces of\n{said} of {group} persons"
    if len(means) == 1:
        model = _model(means[0].setting["variant"])
        title = f"{model} names the birthplaces of {means[0].value:.1%} of {group} persons"
    if seeds > 1:
        title = f"On average over {seeds} seeds, {title[0].lower()}{title[1:]}"
    figure, (ax,) = style.panels(title, size=(6.8, 4.8))
    for x, each in enumerate(means):
        points = estimates.of("accuracy", group=group, variant=each.setting["variant"])
        if seeds > 1:
            ax.plot(
                np.full(len(points), x - 0.12),
                [p.value for p in points],
                "o",
                color=style.COLOURS[0],
                mfc="none",
                label=None if x else "one seed",
            )
        kind = f"mean of {seeds} seeds, t" if seeds > 1 else "of the accuracy, Clopper-Pearson"
        place = [x + 0.12 if seeds > 1 else float(x)]
        shown = Estimates([each if seeds > 1 else points[0]])
        bars(ax, shown, place, series=1, label=None if x else interval(means[0], kind))
    for each in means:
        for stated in filter(lambda stated, each=each: stated.asks(each), STATEMENTS):
            # The other number is how far this one lies above the control, or the control's own. The least decides.
            levels = [
                other.value if other.quantity == each.quantity else each.value - other.value
                for other in stated.beyond(each, estimates)
            ]
            if levels:
                assert isinstance(stated.control, Beyond)
                control(ax, min(levels), stated.control.what)
    # All models are asked the same. A file of an older version does not say how common the places are.
    for each in [e for e in estimates if e.quantity == COMMONEST and e.setting["group"] == group][:1]:
        control(ax, each.value, "always the commonest place")
    named(ax, [f"{in_words(e.setting['variant'])}\n{e.value:.1%}" for e in means])
    ax.set(ylabel=f"birthplaces named right,\n{group} persons", ylim=(-0.02, 1.02))
    meant = f"\n({group}: {GROUPS[group]})" if group in GROUPS else ""
    ax.set_xlabel(f"model, and its accuracy{meant}")
    ax.set_xlim(-0.5, len(means) - 0.5)
    below(figure, ncols=2)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def reliability(estimates: Estimates) -> Figure:
    """Accuracy against confidence, in bins of equally many answers, with a panel for each group of persons."""
    every = estimates.of("accuracy at confidence")
    arms, groups = _arms(every), list(dict.fromkeys(map(_group, every)))
    last = {group: [b for b in every if (b.setting["variant"], _group(b)) == (arms[-1], group)] for group in groups}
    off = {
        group: float(np.average([b.setting["confidence"] - b.value for b in bins], weights=[b.draws for b in bins]))
        for group, bins in last.items()
    }
    title = (
        f"{_model(arms[-1])} is {_too_sure(off[groups[0]])} in naming birthplaces,\n"
        f"by {100 * abs(off[groups[0]]):.0f} percentage points on average"
    )
    if len(groups) > 1:
        said = ", ".join(f"{_too_sure(x)} by {100 * abs(x):.0f} points ({g})" for g, x in off.items())
        title = f"{_model(arms[-1])} names birthplaces of persons in several groups:\n{said}"
    figure, axes = style.panels(title, 1, len(groups), size=(6.0 if len(groups) == 1 else 4.6 * len(groups), 5.0))
    for ax, group in zip(axes, groups, strict=True):
        ax.plot([0, 1], [0, 1], color="#777777", linewidth=1, label="confidence is accuracy")
        for series, arm in enumerate(arms):
            found = Estimates(b for b in every if (b.setting["variant"], _group(b)) == (arm, group))
            bars(ax, found, [b.setting["confidence"] for b in found], series=series, label=in_words(arm), line=True)
        ax.set(xlabel="confidence: probability of the whole answer", ylim=(-0.02, 1.02))
        if len(groups) > 1:
            ax.set_title(f"{group} persons")
        in_percent(figure, ax)
    axes[0].set_ylabel("birthplaces named right")
    _explain(figure, groups)
    parts = f"a point: 1/{len(last[groups[0]])} of the answers"
    axes[0].legend(loc="upper left", title=f"{parts}\n{interval(every[0])}", title_fontsize=8, fontsize=8)
    return figure


def abstention(estimates: Estimates) -> Figure:
    """Accuracy against coverage, if the model answers only above a confidence."""
    arms = _arms(estimates.of("accuracy of the surest"))
    curve = estimates.of("accuracy of the surest", variant=arms[-1])
    half = min(curve, key=lambda e: abs(e.setting["coverage"] - 0.5))
    asked = curve[0].setting["groups"]
    of_whom = f"birthplaces of {asked} persons" if " and " in asked else "all birthplaces"
    title = (
        f"{_model(arms[-1])} names {curve[-1].value:.0%} of {of_whom} right,\n"
        f"and {half.value:.0%} of the {half.setting['coverage']:.0%} in which it is most confident"
    )
    figure, (ax,) = style.panels(title, size=(6.4, 4.7))
    for series, arm in enumerate(arms):
        curve = estimates.of("accuracy of the surest", variant=arm)
        xs = [e.setting["coverage"] for e in curve]
        colour, dash = style.COLOURS[series % 7], style.DASHES[series % 7]
        ax.plot(xs, [e.value for e in curve], color=colour, linestyle=dash, label=in_words(arm))
        ends = [e.interval.low for e in curve], [e.interval.high for e in curve]
        ax.fill_between(xs, *ends, color=colour, alpha=0.15, linewidth=0)
    ax.set(xlabel="coverage: share of questions answered, the most confident answers first")
    ax.set(ylabel="birthplaces named right,\nof those answered", xlim=(0, 1), ylim=(-0.02, 1.02))
    ax.legend(loc="best", title=f"shade: {level(curve[0])} confidence interval", title_fontsize=8, fontsize=8)
    _explain(figure, asked.split(" and "))
    return in_percent(figure, ax)


def confidences(estimates: Estimates) -> Figure:
    """The confidence of right and of wrong answers, in one panel for each arm."""
    arms = _arms(estimates.of("share at confidence"))
    areas = {e.setting["variant"]: e for e in estimates if e.quantity == "auroc"}
    known = [f"{areas[v].value:.2f}" + (f" ({_called(v)})" if len(arms) > 1 else "") for v in arms if v in areas]
    said = "A right birthplace is named with more confidence than a wrong one\nwith probability "
    title = said + ", ".join(known) if known else "Right and wrong birthplaces are named with these confidences"
    asked = estimates.of("share at confidence")[0].setting["groups"]
    title += f",\namong answers about {asked} persons" if " and " in asked else ""
    figure, axes = style.panels(title, 1, len(arms), size=(max(6.0, 3.4 * len(arms) + 0.6), 4.0))
    for ax, arm in zip(axes, arms, strict=True):
        for right, series, hatch in ((False, 1, "////"), (True, 0, "")):
            bins = [e for e in estimates.of("share at confidence", variant=arm) if e.setting["right"] == right]
            if not bins:
                continue
            colour = style.COLOURS[series]
            edges = [b.setting["low"] for b in bins] + [bins[-1].setting["high"]]
            label = f"{bins[0].draws} {'right' if right else 'wrong'} answers"
            look = {"edgecolor": colour, "facecolor": (colour, 0.15), "hatch": hatch, "linewidth": 1.4}
            ax.stairs([b.value for b in bins], edges, fill=True, label=label, **look)
        ax.set(xlabel="confidence: probability of the answer", title=in_words(arm), xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(loc="upper center")
        in_percent(figure, ax)
    axes[0].set_ylabel("share of the right\n(or of the wrong) answers")
    _explain(figure, asked.split(" and "))
    return figure


def learning_curves(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and held-out accuracy against the step, with a line for each arm and seed.

    If accuracies are known at the last step only, they stand in the title and have no panel.

    Args:
        rows: each with `variant`, `seed`, `step`, and `loss` (nats) or `accuracy` (of held-out persons) or both.

    Raises:
        ValueError: if no row has a loss, or none an accuracy.
    """
    for field in ("loss", "accuracy"):
        if not any(row.get(field) is not None for row in rows):
            raise ValueError(f"a learning curve needs rows with {field!r}, and none of these {len(rows)} has one")
    losses, accuracies = (_by_model(rows, field) for field in ("loss", "accuracy"))
    arms = list(dict.fromkeys(arm for arm, _ in (*losses, *accuracies)))
    curves = [losses, accuracies] if max(map(len, accuracies.values())) > 1 else [losses]
    seeds = max(sum(of == arm for of, _ in losses) for arm in arms)
    of_seeds = f" (means of {seeds} seeds)" if seeds > 1 else ""
    title = (
        f"Loss at the end of pretraining: {_ends(losses, arms, '.2f')} nats per character.\n"
        f"Birthplaces of held-out persons named right: {_ends(accuracies, arms, '.0%')}{of_seeds}"
    )
    figure, axes = style.panels(title, 1, len(curves), size=(7.8 if len(curves) == 1 else 9.6, 4.2))
    for ax, models in zip(axes, curves, strict=True):
        labelled: set[str] = set()
        for (arm, _), points in models.items():
            series = arms.index(arm)
            look = {"color": style.COLOURS[series % 7], "linestyle": style.DASHES[series % 7]}
            ax.plot(
                *zip(*points, strict=True), **look, label=None if arm in labelled else in_words(arm), linewidth=1.3
            )
            labelled.add(arm)
        ax.set_xlabel("step of pretraining")
    axes[0].set(ylabel="training loss, nats per character", yscale="log")
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter(lambda loss, _: f"{loss:g}" if f"{loss:e}"[0] in "235" else "")
    for ax in axes[1:]:
        ax.set(ylabel="birthplaces named right, held-out persons", ylim=(-0.02, 1.02))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[-1].legend(loc="best", title="a line for each seed" if seeds > 1 else None, title_fontsize=9)
    note(figure, f"held-out: {GROUPS['held-out']}")
    return figure


def attention_map(weights: Float[np.ndarray, "t t"], characters: str, *, name: str, head: str) -> Figure:
    """The weights of a head over a question and its answer, and how much of them lies on the name.

    Args:
        weights: in each row, the weights that its character gives.
        characters: one for each row: the question, its mark and the answer.
        name: of the person, as it stands in `characters`.
        head: the name of the head.

    Raises:
        ValueError: if the characters are not as many as the rows, or do not hold the name and a mark after it.
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
        raise ValueError(f"{characters!r} has no mark {MASK} after the question; give the mark and the answer too")
    # The row of the mark decides the first letter; what a closing mark looks at decides nothing.
    answering = weights[mark : max(mark + 1, len(characters.removesuffix(MASK)))]
    on_name = float(np.mean(np.sum(answering[:, start:end], axis=1)))
    title = (
        f"{head}: {on_name:.0%} of the attention weight\n"
        f"in the rows from the answer mark {MASK} on lies on the name {as_written(name)}"
    )
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
    between = f"between the dashed lines: the name {as_written(name)}"
    ax.set(xlabel=f"character looked at\n({between}; {MASK}: mark that asks for the answer)")
    return figure


FIGURES: dict[str, Callable[[Estimates], Figure]] = {
    "knowledge": accuracy_by_arm,
    "reliability": reliability,
    "abstention": abstention,
    "confidences": confidences,
}
"""The figures that need nothing but estimates, by name."""


def of_run(
    estimates: Estimates, curves: Sequence[Mapping[str, Any]], maps: Sequence[Map]
) -> dict[str, Callable[[], Figure] | None]:
    """Every figure that a run may have, by name. None if there is nothing to draw.

    Args:
        estimates: what was measured.
        curves: rows for `learning_curves`; none if nothing was trained.
        maps: of attention heads. The first of each arm is drawn.
    """
    drawn: dict[str, Callable[[], Figure] | None] = {"learning_curves": None}
    drawn |= dict.fromkeys(f"attention_of_{arm}" for arm in PRETRAINED)
    drawn |= {name: functools.partial(each, estimates) for name, each in FIGURES.items()}
    if curves:
        drawn["learning_curves"] = functools.partial(learning_curves, curves)
    first = {each.variant: each for each in reversed(maps)}
    for each in first.values():
        head = f"{in_words(each.variant)}, layer {each.layer}, head {each.head}"
        drawn[f"attention_of_{each.variant}"] = functools.partial(
            attention_map, each.weights, each.characters, name=each.name, head=head
        )
    return drawn


def _arms(estimates: Estimates) -> list[str]:
    return list(dict.fromkeys(e.setting["variant"] for e in estimates))


def _group(estimate: Estimate) -> str:
    """The persons whom an estimate is about. A file of an older version names all groups together."""
    return str(estimate.setting.get("group") or estimate.setting["groups"])


def _too_sure(off: float) -> str:
    return "too confident" if off > 0 else "not confident enough"


def _explain(figure: Figure, groups: Sequence[str]) -> None:
    """Say below a figure about whom the questions are.

    Args:
        figure: with room below it.
        groups: of persons, each perhaps with how many there are before it.
    """
    meant = [f"{name}: {GROUPS[name]}" for name in (group.split(" ")[-1] for group in groups) if name in GROUPS]
    note(figure, "\n".join([f"asked: where {' and '.join(groups)} persons were born", *meant]))


def _by_model(rows: Sequence[Mapping[str, Any]], field: str) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """The values of a field with their steps, for every arm and seed."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row.get(field) is not None:
            found.setdefault((row["variant"], row["seed"]), []).append((float(row["step"]), float(row[field])))
    return found


def _ends(curves: Mapping[tuple[str, int], Sequence[tuple[float, float]]], arms: Sequence[str], form: str) -> str:
    """The ends of the curves of every arm that has one, each the mean over seeds."""
    told = []
    for arm in arms:
        ends = [points[-1][1] for (of, _), points in curves.items() if of == arm]
        told += [f"{_called(arm)} {float(np.mean(ends)):{form}}"] if ends else []
    return ", ".join(told)


def in_words(arm: str) -> str:
    """The name of an arm, and its meaning."""
    return f"{_called(arm)} ({MEANT[arm]})" if arm in MEANT else _called(arm)


def _model(arm: str) -> str:
    """The subject of a title."""
    return "The model that is not pretrained" if arm == UNTRAINED else f'The model "{as_written(arm)}"'


def _called(arm: str) -> str:
    return "not pretrained" if arm == UNTRAINED else arm
