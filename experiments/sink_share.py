"""Does a sink keep a head quiet, however long the text is?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sinks import clipping, eviction, length, mixing, sigmoid, stick_breaking
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The share of a sink against the number of keys."""
    from attnlab_theory.report import style

    figure, (sink,) = style.panels(
        "A sink of fixed score is no lasting silence:\nits share fades as the text grows"
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
    )
    sink.legend(loc="lower left", fontsize=8)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="sink_share",
    question="Does a sink keep a head quiet, however long the text is?",
    claims=(
        *length.CLAIMS,
        *mixing.CLAIMS,
        *eviction.CLAIMS,
        *sigmoid.CLAIMS,
        *stick_breaking.CLAIMS,
        *clipping.CLAIMS,
    ),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
