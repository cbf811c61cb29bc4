"""Can weights that compare no tokens look something up?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sparse import synthesizers as claims
from attnlab_theory.claims.sparse.synthesizers import Weighting
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The chance of recalling a sign, against the number of places it may lie in."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels(
        "Attention finds the value (+1 or −1) that belongs to a key;\n"
        "weights that ignore the keys often give the wrong one",
        size=(8.0, 5.4),
    )
    style.draw_measured(ax, findings.of("recall-by-attention"), "n", label="attention", series=2)
    even = findings.of("recall-by-even-weights")
    style.draw_predicted(ax, even, "n", label="best of all weights that ignore the keys")
    style.draw_measured(ax, even, "n", label="equal weights")
    synthesizers = findings.of("recall-by-synthesizers")
    for kind, series in ((Weighting.RANDOM, 1), (Weighting.DENSE, 3)):
        for strength, shift in ((2.0, 1.06), (8.0, 1.12)):
            chosen = synthesizers.of("recall-by-synthesizers", kind=kind, strength=strength)
            ax.errorbar(
                # Beside each other: they would hide one another.
                [shift * n * (1 if kind == Weighting.RANDOM else 1.12) for n in chosen.values("n")],
                [f.measured.centre for f in chosen],
                yerr=[f.measured.width / 2 for f in chosen],
                fmt=style.MARKERS[series],
                color=style.COLOURS[series],
                markerfacecolor="white" if strength == 2 else style.COLOURS[series],
                label=f"{kind} synthesizer, logits with standard deviation {strength:g}",
            )
    ax.axhline(0.5, color="#777777", linewidth=1)
    ax.annotate("guessing", (3, 0.5), xytext=(-6, -12), textcoords="offset points", fontsize=9)
    ax.set(
        xscale="log", xlabel="number of keys and values, $n$", ylabel="chance of the right value", ylim=(0.42, 1.04)
    )
    ax.set_xticks(style.series_of(even, "n"), [f"{n:g}" for n in style.series_of(even, "n")])
    ax.minorticks_off()
    told = (
        "random synthesizer: a table of logits\ndense synthesizer: a network that sees one token\n"
        "(both at 3 and 9 keys only, shifted sideways)"
    )
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.94), title=told, title_fontsize=8, alignment="left")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="synthesizer_recall",
    question="Can weights that compare no tokens look something up?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
