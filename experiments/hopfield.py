"""How many patterns can one step of attention tell apart?"""

import dataclasses

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.claims.limits import hopfield as claims
from attnlab_theory.experiment import Experiment, main
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import hopfield as theory


def as_capacity(finding: Finding) -> Finding:
    """How many patterns there may be until the others weigh as much as the one: interference grows with n - 1."""
    others = finding.setting["n"] - 1

    def number(interference: Interval) -> Interval:
        return Interval(1 + others / interference.high, 1 + others / interference.low)

    return dataclasses.replace(finding, predicted=number(finding.predicted), measured=number(finding.measured))


def draw_figure(findings: Findings):
    """The capacity against the width, and retrieval errors below the copy bound."""
    from attnlab_theory.report import style

    capacity = Findings(as_capacity(f) for f in findings.of("interference-of-random-patterns"))
    narrow, *_, wide = sorted(capacity, key=lambda f: f.setting["d"])
    steps = (wide.setting["d"] - narrow.setting["d"]) / 2
    growth = (wide.measured.centre / narrow.measured.centre) ** (1 / steps)
    figure, (held, error) = style.panels(
        f"Attention holds exponentially many patterns: {growth:.1f} times as many for two more dimensions",
        columns=2,
    )
    style.draw_predicted(held, capacity, "d", label=r"attention, strength $\beta = d$")
    style.draw_measured(held, capacity, "d")
    widths = capacity.values("d")
    held.plot(
        widths,
        [theory.classical_capacity(d) for d in widths],
        color=style.REFUTED,
        linestyle=(0, (4, 3)),
        label=f"refuted: ${theory.CLASSICAL:g}d$, as in classical Hopfield\nnetworks (drawn at 1 if smaller)",
    )
    held.set(
        yscale="log",
        xlabel="width of the patterns, $d$",
        ylabel="number of random patterns",
        title="Number of patterns at which all others\ntogether weigh as much as the one sought",
        xticks=widths,
    )
    held.legend(loc="upper left")
    share = findings.of("retrieval-error-below-the-copy-bound")
    style.draw_predicted(error, share, "strength", label="proved bound")
    style.draw_measured(error, share, "strength")
    error.set(
        xlabel=r"strength of the query, $\beta$",
        ylabel="retrieval error / proved bound",
        title="The retrieval error of one of 16 patterns\nis smaller than its proved bound",
        ylim=(0, 1.2),
    )
    error.legend(loc="center right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="hopfield",
    question="How many patterns can one step of attention tell apart?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
