"""Pictures of mixers. Imports matplotlib: import this module where one is drawn."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.mixers.arms import CAUSAL
from attnlab_theory.labs.mixers.claims import BY_A_UNIGRAM, DIFFERENCE, SAME, STATEMENTS
from attnlab_theory.labs.perplexity import MARGIN
from attnlab_theory.labs.plots import bars, below, controls, far_control, interval, named
from attnlab_theory.report import style
from attnlab_theory.stats import Interval

MEANT = {
    "separate": "separate Q, K, V",
    "additive": "additive scores",
    "shared-qk": "Q = K",
    "shared-qkv": "Q = K = V",
    "zero-after": "later weights 0\nafter the softmax",
    "zero-before": "later scores 0\nbefore the softmax",
    "shared-qk, two heads": "Q = K,\nsum of two heads",
    "shared-qk, three heads": "Q = K,\nsum of three heads",
}
"""The meaning of the arms' names, for a narrow place."""


NUMBERS = ("no", "one", "two", "three")

FORCED = "teacher-forced: later tokens present"


def equivalence(estimates: Estimates, findings: Findings) -> Figure:
    """The difference of each causal mixer's loss from that of separate projections, and the margin.

    Each interval is for one number. The verdicts in the figure hold together.
    """
    found = Estimates(e for e in estimates.of(DIFFERENCE) if e.setting["arm"] in CAUSAL)
    shown = {f.setting["arm"] for f in findings if f.predicted == SAME and f.verdict == Verdict.SUPPORTED}
    inside = [MEANT[e.setting["arm"]] for e in found if e.setting["arm"] in shown]
    if len(inside) > 1:
        said = f"{_listed(inside)} each have"
        said = said[0].upper() + said[1:]
    elif inside:
        said = f"Attention with {inside[0]} has"
    elif len(found) > 1:
        said = f"None of these {NUMBERS[len(found)]} kinds of attention is shown to have"
    else:
        said = f"Attention with {MEANT[found[0].setting['arm']]} is not shown to have"
    title = (
        f"{said} a mean test loss\nwithin {MARGIN:g} nats per token of that of attention with {MEANT['separate']}"
    )
    figure, (ax,) = style.panels(title, size=(6.4, 4.2))
    bars(
        ax,
        found,
        list(range(len(found))),
        series=0,
        label=interval(found[0], f"of the mean, t, {found[0].draws} seeds"),
    )
    ax.axhspan(
        -MARGIN, MARGIN, color=style.INK, alpha=0.12, linewidth=0, label=f"losses that differ by at most {MARGIN:g}"
    )
    named(ax, [_two_lines(e.setting["arm"]) for e in found])
    controls(ax, STATEMENTS, found, estimates)
    for below_unigram in [e for e in estimates if e.quantity == BY_A_UNIGRAM.quantity]:
        far_control(ax, below_unigram.value, BY_A_UNIGRAM.what)
    ax.set(
        ylabel=f"test loss minus that with\n{MEANT['separate']}, nats per token",
        xlim=(-0.6, len(found) - 0.4),
    )
    below(figure)
    return figure


def honesty(estimates: Estimates) -> Figure:
    """Teacher-forced and honest losses of the first seeds. Only leaking mixers have the third kind."""
    kinds = {
        "teacher-forced loss": FORCED,
        "honest loss, filled up with PAD": "honest: padding (PAD) in their place",
        "honest loss": "honest: nothing in their place",
    }
    asked = {each.quantity for each in estimates}
    shown = {label: estimates.of(quantity) for quantity, label in kinds.items() if quantity in asked}
    forced = shown[FORCED]
    arms = list(dict.fromkeys(e.setting["arm"] for e in forced))
    gaps = [e for e in estimates if e.quantity == "mean honest less teacher-forced loss"]
    worst = max(gaps or estimates.of("honest less teacher-forced loss"), key=lambda e: e.value)
    verb = "rises" if worst.value >= 0 else "falls"
    title = (
        f'If padding (PAD) hides later tokens, the loss of the model "{worst.setting["arm"]}"\n'
        f"{verb} by {abs(worst.value):.2f} nats per token" + (", on average over seeds" if gaps else "")
    )
    figure, (ax,) = style.panels(title, size=(7.8, 4.8))
    seeds = sorted({e.setting["seed"] for e in forced})
    # A third of a mixer's place for each way, and within it a place for each seed.
    places = {seed: (n - (len(seeds) - 1) / 2) / (len(seeds) + 1) for n, seed in enumerate(seeds)}
    for series, (label, found) in enumerate(shown.items()):
        xs = [arms.index(e.setting["arm"]) + 0.3 * (series - 1 + places[e.setting["seed"]]) for e in found]
        bars(ax, found, xs, series=series, label=label)
    named(ax, [_two_lines(arm) for arm in arms], fontsize=8)
    ax.set(ylabel="loss, nats per token")
    told = f"a point for each seed; {interval(forced[0], 'mean over test sentences, t')}"
    bare = {e.setting["arm"] for e in shown.get(kinds["honest loss"], ())}
    if bare and bare < set(arms):
        told += '\n"nothing in their place" is measured only for masks of zeros: no other model sees later tokens'
    below(figure, ncols=3, title=told)
    return figure


def leaks(maps: dict[str, Float[np.ndarray, "t t"]]) -> Figure:
    """Which later tokens change an earlier loss."""
    ahead = {name: float(np.triu(found, 1).sum() / max(found.sum(), 1e-12)) for name, found in maps.items()}
    said = ", ".join(f"{share:.0%} ({name})" for name, share in ahead.items())
    figure, axes = style.panels(
        f"Later tokens have {said} of all influence on losses",
        1,
        len(maps),
        size=(3.6 * len(maps) + 0.8, 4.6),
    )
    top = max(float(found.max()) for found in maps.values())
    norm = PowerNorm(0.5, 0, top)
    for ax, (name, found) in zip(axes, maps.items(), strict=True):
        ax.imshow(found, norm=norm)
        size = len(found)
        ax.plot([-0.5, size - 0.5], [-0.5, size - 0.5], color="white", linewidth=1, linestyle="--")
        told = f"{name}\nlater tokens masked\ncorrectly" if name in CAUSAL else _two_lines(name)
        ax.set(title=told, xlabel="token replaced")
        ax.grid(visible=False)
    axes[0].set_ylabel("token whose loss changes")
    figure.colorbar(ScalarMappable(norm), ax=axes, label="change of the loss, nats (square-root scale)", shrink=0.8)
    return figure


def routing(estimates: Estimates) -> Figure:
    """The smallest wanted weight of each kind of head."""
    found = estimates.of("least wanted weight")
    said = ", ".join(f"{e.value:.2f} ({MEANT[e.setting['head']]})".replace(",\n", ", ") for e in found[:2])
    title = (
        "Each of three tokens should look at the next (the third at the first).\n"
        f"The least of these three weights is on average {said}"
    )
    figure, (ax,) = style.panels(title, size=(7.4, 4.4))
    told = interval(found[0], f"of the mean, t, {found[0].draws} seeds")
    bars(ax, Estimates(map(_a_weight, found)), list(range(len(found))), series=0, label=told)
    ax.axhline(0.5, color=style.INK, linewidth=1, linestyle="--", label="bound of one head with Q = K")
    controls(ax, STATEMENTS, found, estimates)
    named(ax, [_two_lines(e.setting["head"]) for e in found])
    ax.set(ylabel="least of the three wanted weights", ylim=(-0.05, 1.1))
    told = "sum of heads: their weights are added, each head's times a learned number, positive or negative"
    below(figure, ncols=2, title=told)
    return figure


def _a_weight(estimate: Estimate) -> Estimate:
    """The same with an interval that is cut to what is possible: weights of a single head lie between 0 and 1."""
    if "heads" in estimate.setting["head"]:
        return estimate
    low, high = max(estimate.interval.low, 0.0), min(estimate.interval.high, 1.0)
    return dataclasses.replace(estimate, interval=Interval(low, high))


def _listed(names: Sequence[str]) -> str:
    """Names within a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _two_lines(arm: str) -> str:
    """The name of an arm, and its meaning below it."""
    return f"{arm.partition(',')[0]}\n{MEANT[arm]}" if arm in MEANT else arm
