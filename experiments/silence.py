"""Can a head say nothing without a sink?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sinks import silence as claims
from attnlab_theory.experiment import Experiment, main

DIMENSIONS = {2: "in the plane", 8: "in eight dimensions"}


def draw_figure(findings: Findings):
    """The chance that some weights of random values give exactly 0, against their number."""
    from attnlab_theory.report import style

    figure, (panel,) = style.panels(
        "Silence needs no sink: with twice as many values\n"
        "as dimensions, some weights give exactly 0 half of the time"
    )
    for series, (d, where) in enumerate(DIMENSIONS.items()):
        chance = findings.of("silence-needs-twice-as-many-values-as-dimensions", d=d)
        style.draw_predicted(panel, chance, "n", series=series, label=where)
        style.draw_measured(panel, chance, "n", series=series)
    needed = findings.of("sinks-are-necessary-to-be-silent")
    style.draw_refuted(panel, needed, "n", label=f"said to need a sink: at most {needed[0].predicted.high:g}")
    panel.set_xscale("log", base=2)
    panel.set(
        ylim=(-0.03, 1.45),
        xlabel="number of random values, $n$",
        ylabel="chance that some weights\nof the values give exactly 0",
    )
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    panel.set_xticks([3, 4, 8, 12, 16, 24], ["3", "4", "8", "12", "16", "24"])
    panel.minorticks_off()
    panel.legend(loc="upper left", fontsize=9)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="silence",
    question="Can a head say nothing without a sink?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
