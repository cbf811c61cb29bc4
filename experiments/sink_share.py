"""Does a sink keep a head quiet, however long the text is?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sinks import CLAIMS
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The share of a sink against the number of keys; what sigmoid weights sum to instead of one."""
    from attnlab_theory.report import style

    figure, (sink, silence) = style.panels(
        "A sink of fixed score is no lasting silence: its share fades as the text grows;\n"
        "and silence needs no sink: from some values on, weights that give exactly 0 are common",
        columns=2,
    )
    fades = findings.of("a-sink-fades-with-length", sink=0.0)
    for series, spread in enumerate(style.series_of(fades, "spread")):
        chosen = fades.of("a-sink-fades-with-length", spread=spread)
        style.draw_predicted(
            sink, chosen, "n", series=series, label=rf"scores that spread by $\sigma = {spread:g}$"
        )
        style.draw_measured(sink, chosen, "n", series=series)
    quiet = findings.of("softmax-plus-one-keeps-a-random-head-quiet")
    style.draw_refuted(sink, quiet, "n", label=f"said to stay quiet: at least {quiet[0].predicted.low:g}")
    sink.set_xscale("log", base=2)
    sink.set(
        yscale="log",
        ylim=(5e-6, 1.2),
        xlabel="number of keys with independent normal scores, $n$",
        ylabel="mean weight of a sink of score 0",
        title="Softmax-plus-one is no silence among many keys",
    )
    sink.legend(loc="lower left", fontsize=8)
    chance = findings.of("silence-needs-twice-as-many-values-as-dimensions", d=2)
    style.draw_predicted(silence, chance, "n", label=r"Wendel: $1 - n/2^{n-1}$")
    style.draw_measured(silence, chance, "n")
    needed = findings.of("sinks-are-necessary-to-be-silent")
    style.draw_refuted(silence, needed, "n", label=f"said to need a sink: at most {needed[0].predicted.high:g}")
    silence.set(
        ylim=(-0.03, 1.05),
        xlabel="number of random values in the plane, $n$",
        ylabel="chance that some weights\nof the values give exactly 0",
        title="Heads without a sink are often able to be silent",
    )
    silence.legend(loc="center right", fontsize=8)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="sink_share",
    question="Does a sink keep a head quiet, however long the text is?",
    claims=CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
