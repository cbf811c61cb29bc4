"""How many patterns can one step of attention tell apart?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.limits import hopfield as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Interference at capacity, with the number of patterns, and retrieval errors below the copy bound."""
    from attnlab_theory.report import style

    figure, (held, error) = style.panels(
        "Attention holds exponentially many patterns: two more dimensions, three times as many",
        columns=2,
    )
    interference = findings.of("interference-of-random-patterns")
    style.draw_predicted(held, interference, "n", label=r"predicted by ${}_0F_1$")
    style.draw_measured(held, interference, "n", label="measured")
    for f in interference:
        held.annotate(
            f"$d = {f.setting['d']:g}$", (f.setting["n"], f.measured.high + 0.02), ha="center", fontsize=9
        )
    held.set_xscale("log", base=2)
    held.set(
        xlabel=r"random patterns stored, $n$: the capacity at $\beta = d$",
        ylabel="weight of the others over that of the one",
        title="Interference at capacity",
        ylim=(0, 1.4),
    )
    held.legend(loc="lower right")
    share = findings.of("retrieval-error-below-the-copy-bound")
    style.draw_predicted(error, share, "strength", label="the copy bound")
    style.draw_measured(error, share, "strength", label="mean error, 16 patterns, $d = 8$")
    error.set(
        xlabel=r"strength of the query, $\beta$",
        ylabel="retrieval error in units of its bound",
        title="Retrieval of a stored pattern",
        ylim=(0, 1.2),
    )
    error.legend(loc="center right")
    return figure


EXPERIMENT = Experiment(
    name="hopfield",
    question="How many patterns can one step of attention tell apart?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
