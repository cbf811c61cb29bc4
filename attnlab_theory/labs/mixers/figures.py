"""Pictures of mixers. Imports matplotlib: import this module where one is drawn."""

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.mixers.arms import CAUSAL
from attnlab_theory.labs.mixers.claims import DIFFERENCE, SAME
from attnlab_theory.labs.perplexity import MARGIN
from attnlab_theory.labs.plots import bars, below, interval, named
from attnlab_theory.report import style


def equivalence(estimates: Estimates, findings: Findings) -> Figure:
    """The difference of each causal mixer's loss from that of separate projections, and the margin.

    Each interval is for one number. The verdicts in the figure hold together.
    """
    found = Estimates(e for e in estimates.of(DIFFERENCE) if e.setting["arm"] in CAUSAL)
    shown = {f.setting["arm"] for f in findings if f.predicted == SAME and f.verdict == Verdict.SUPPORTED}
    inside = [e.setting["arm"] for e in found if e.setting["arm"] in shown]
    said = f"The loss of {', '.join(inside)} stays" if inside else "No mixer is shown to stay"
    figure, (ax,) = style.panels(f"{said} within {MARGIN:g} nats of separate", size=(6.4, 3.8))
    bars(ax, found, list(range(len(found))), series=0, label=interval(found[0], f"t, {found[0].draws} seeds"))
    ax.axhspan(-MARGIN, MARGIN, color=style.INK, alpha=0.12, linewidth=0, label="margin of equivalence")
    ax.axhline(0, color=style.INK, linewidth=0.8)
    named(ax, [e.setting["arm"] for e in found])
    ax.set(ylabel="test loss minus that of\nseparate, nats per token", xlim=(-0.6, len(found) - 0.4))
    below(figure, ncols=2)
    return figure


def honesty(estimates: Estimates) -> Figure:
    """Teacher-forced and honest losses of the first seeds. Only leaking mixers have the third kind."""
    kinds = {
        "teacher-forced loss": "teacher-forced",
        "honest loss, filled up with PAD": "honest: PAD after the prefix",
        "honest loss": "honest: nothing after the prefix",
    }
    asked = {each.quantity for each in estimates}
    shown = {label: estimates.of(quantity) for quantity, label in kinds.items() if quantity in asked}
    forced = shown["teacher-forced"]
    arms = list(dict.fromkeys(e.setting["arm"] for e in forced))
    gaps = [e for e in estimates if e.quantity == "mean honest less teacher-forced loss"]
    worst = max(gaps or estimates.of("honest less teacher-forced loss"), key=lambda e: e.value)
    title = f"With PAD where it looked ahead, {worst.setting['arm']} loses {worst.value:.2f} nats per token"
    title += ", on average" if gaps else ""
    figure, (ax,) = style.panels(title, size=(7.2, 4.2))
    seeds = sorted({e.setting["seed"] for e in forced})
    # A third of a mixer's place for each way, and within it a place for each seed.
    places = {seed: (n - (len(seeds) - 1) / 2) / (len(seeds) + 1) for n, seed in enumerate(seeds)}
    for series, (label, found) in enumerate(shown.items()):
        xs = [arms.index(e.setting["arm"]) + 0.3 * (series - 1 + places[e.setting["seed"]]) for e in found]
        bars(ax, found, xs, series=series, label=label)
    named(ax, arms)
    ax.set(ylabel="loss, nats per token")
    below(figure, ncols=3, title=interval(forced[0], "t"))
    return figure


def leaks(maps: dict[str, Float[np.ndarray, "t t"]]) -> Figure:
    """Which later tokens change an earlier loss."""
    ahead = {name: float(np.triu(found, 1).sum() / max(found.sum(), 1e-12)) for name, found in maps.items()}
    said = ", ".join(f"{share:.0%} ({name})" for name, share in ahead.items())
    figure, axes = style.panels(
        f"The future makes {said} of all influence",
        1,
        len(maps),
        size=(3.6 * len(maps) + 0.8, 4.4),
    )
    top = max(float(found.max()) for found in maps.values())
    norm = PowerNorm(0.5, 0, top)
    for ax, (name, found) in zip(axes, maps.items(), strict=True):
        ax.imshow(found, norm=norm)
        size = len(found)
        ax.plot([-0.5, size - 0.5], [-0.5, size - 0.5], color="white", linewidth=1, linestyle="--")
        ax.set(title=name, xlabel="token replaced")
        ax.grid(visible=False)
    axes[0].set_ylabel("token whose loss changes")
    figure.colorbar(ScalarMappable(norm), ax=axes, label="nats (square-root scale)", shrink=0.8)
    return figure


def routing(estimates: Estimates) -> Figure:
    """The smallest wanted weight of each kind of head."""
    found = estimates.of("least wanted weight")
    said = ", ".join(f"{e.value:.2f} ({e.setting['head']})" for e in found[:2])
    figure, (ax,) = style.panels(f"The least of three wanted weights is {said}", size=(6.8, 3.8))
    bars(ax, found, list(range(len(found))), series=0, label=interval(found[0], f"t, {found[0].draws} seeds"))
    ax.axhline(
        0.5, color=style.INK, linewidth=1, linestyle="--", label="bound of one head whose queries are its keys"
    )
    named(ax, [e.setting["head"].replace(", ", ",\n") for e in found])
    ax.set(ylabel="least wanted weight", ylim=(-0.05, 1.1))
    below(figure, ncols=2)
    return figure
