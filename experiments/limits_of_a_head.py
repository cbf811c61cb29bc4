"""What can a head of a given width not do, and how fast can its output move?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.limits import lipschitz, low_rank
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The least error of given weights against the width; slopes against the size of the tokens."""
    from attnlab_theory.report import style

    figure, (width, slope) = style.panels(
        "Only a head of width $n - 1$ or more can give $n$ tokens any weights that are wanted;\n"
        "dot-product attention has no Lipschitz constant",
        columns=2,
    )
    error = findings.of("least-error-of-a-narrow-head")
    style.draw_predicted(width, error, "d")
    style.draw_measured(width, error, "d")
    width.set(
        xlabel="width of the head, $d$",
        ylabel="least distance of a head's\nlog weights from wanted ones",
        title="A narrower head misses random weights of 16 tokens",
        xticks=[1, 3, 5, 7, 9, 11, 13, 15],
    )
    dot = findings.of("dot-product-attention-is-not-lipschitz")
    style.draw_predicted(slope, dot, "size", label=r"scores $x_i \cdot x_j$: slope in $x_0$, $c^2(n - 1)/n + 1/n$")
    style.draw_measured(slope, dot, "size")
    distance = findings.of("attention-by-distances-is-lipschitz")
    style.draw_predicted(
        slope, distance, "size", series=1, label=r"scores $-|x_i - x_j|^2$: slopes in all $x_j$, added"
    )
    style.draw_measured(slope, distance, "size", series=1)
    bound = findings.of("dot-product-attention-has-a-constant")[0].predicted.high
    slope.axhline(
        bound,
        color="#777777",
        linewidth=1,
        linestyle="--",
        label=r"proved bound of this sum",
    )
    slope.set_xscale("log", base=2)
    slope.set(
        yscale="log",
        xlabel=r"size $c$ of 8 tokens at $\pm c$ around one at zero",
        ylabel="slope of the output at zero",
        title="Dot products have no largest slope, $n = 9$ tokens",
    )
    slope.legend(loc="upper left", fontsize=8)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="limits_of_a_head",
    question="What can a head of a given width not do, and how fast can its output move?",
    claims=(*low_rank.CLAIMS, *lipschitz.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
