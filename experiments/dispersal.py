"""Can attention stay sharp among ever more keys, and can it say nothing?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.limits import dispersal as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The largest weight against the number of keys; what a sink leaves of the output."""
    from attnlab_theory.report import style

    figure, (sharp, sink) = style.panels(
        r"With scores in $\pm M$ the largest weight is at most $e^{2M}/n$;"
        "\nwith a sink (a key of score 0 and value 0) the output can vanish",
        columns=2,
    )
    reached = findings.of("dispersal-is-reached")
    for series, peak in enumerate(style.series_of(reached, "peak")):
        chosen = reached.of("dispersal-is-reached", peak=peak)
        style.draw_predicted(sharp, chosen, "n", series=series, label=f"largest possible, $M = {peak:g}$")
        style.draw_measured(sharp, chosen, "n", series=series)
    keys = findings.of("dispersal", d=4, peak=4.0)
    style.draw_predicted(sharp, keys, "n", series=3, label="mean, query of length 4, random keys, $d = 4$")
    style.draw_measured(sharp, keys, "n", series=3)
    grown = findings.of("scores-that-grow-like-ln-n-stay-sharp")
    style.draw_predicted(
        sharp, grown, "n", series=4, label=r"query of length $1.25\ln n$, random keys, $d = 32$ (lower bound)"
    )
    style.draw_measured(sharp, grown, "n", series=4)
    sharp.set_xscale("log", base=2)
    sharp.set(
        yscale="log",
        xlabel="number of keys, $n$",
        ylabel="largest weight",
        ylim=(1e-4, 1.5),
        title=r"Bounded scores lose sharpness as $n$ grows,"
        "\nscores that grow like $\\ln n$ do not",
    )
    sharp.legend(loc="lower left", fontsize=8)
    chosen = findings.of("a-sink-scales-the-output", n=16)
    style.draw_predicted(sink, chosen, "beta", label=r"with a sink: $Z/(Z + 1)$, $Z = \Sigma e^{z_i}$")
    style.draw_measured(sink, chosen, "beta")
    plain = findings.of("low-scores-silence-attention-without-a-sink")
    style.draw_measured(sink, plain, "beta", series=1, label="without a sink")
    style.draw_refuted(sink, plain, "beta", label=f"the same without a sink (below {plain[0].predicted.high:g})")
    sink.set(
        xlabel=r"length $\beta$ of a query opposite to 16 keys (all values equal)",
        ylabel="length of the output",
        title="Only with a sink does the output vanish",
        ylim=(-0.03, 1.1),
    )
    sink.legend(loc="center right", bbox_to_anchor=(1.0, 0.7))
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="dispersal",
    question="Can attention stay sharp among ever more keys, and can it say nothing?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
