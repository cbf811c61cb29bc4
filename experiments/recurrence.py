"""What does a recurrent layer save against attention, and what does it lose?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.cost import recurrence
from attnlab_theory.claims.cost.recurrence import LayerKind
from attnlab_theory.claims.limits import gradients_at_distance
from attnlab_theory.experiment import Experiment, main

KINDS = (
    (LayerKind.PLAIN, "attention, 4 heads"),
    (LayerKind.BLOCKED, "attention, 4 heads, in blocks"),
    (LayerKind.RECURRENT, "recurrent"),
)


def draw_against_distance(ax, curves: list[tuple[Findings, str]]) -> None:
    """Predicted and measured against the distance, one series for each labelled curve."""
    from attnlab_theory.report import style

    for series, (chosen, label) in enumerate(curves):
        style.draw_predicted(ax, chosen, "distance", series=series, label=label)
        style.draw_measured(ax, chosen, "distance", series=series)
    ax.set(yscale="log", xlabel=r"distance $\delta$ (tokens)")
    ax.legend(loc="lower left")


def draw_figure(findings: Findings):
    """Operations and the largest array against the length; the gradient against the distance."""
    from attnlab_theory.report import style

    figure, (operations, memory, gradients, squares) = style.panels(
        "Recurrence saves operations and memory, blocks save memory;\n"
        "only attention's gradient does not depend on the distance",
        2,
        2,
    )
    for ax, claim in ((operations, "operations-of-recurrence-and-attention"), (memory, "largest-array")):
        for series, (kind, label) in enumerate(KINDS):
            chosen = findings.of(claim, kind=kind)
            style.draw_predicted(ax, chosen, "t", series=series, label=label)
            style.draw_measured(ax, chosen, "t", series=series)
        ax.set_xscale("log", base=2)
        ax.set(yscale="log", xlabel="length $T$ (tokens)")
    operations.set(
        ylabel="operations in matrix products",
        title="Attention in blocks takes as many operations\nas plain attention, width $d$ = 64",
    )
    memory.set(
        ylabel="bytes of the largest array", title="Blocks and recurrence need small arrays,\nwidth $d$ = 64"
    )
    operations.legend()
    memory.legend()
    attention = findings.of("attention-gradient-at-any-distance")
    linear = findings.of("linear-recurrence-gradient")
    curves = [
        (linear.of(linear[0].claim, gain=gain), rf"linear recurrent layer, $\rho = {gain}$") for gain in (1.1, 0.8)
    ]
    draw_against_distance(gradients, curves)
    gradients.set(
        ylabel="norm of the Jacobian",
        title="Without tanh, gradients grow if the spectral\nradius $\\rho > 1$ and shrink if $\\rho < 1$",
    )
    squared = findings.of("tanh-recurrence-gradient")
    curves = [
        (squared.of(squared[0].claim, gain=gain), rf"tanh, gain {gain}, inputs' std {drive}")
        for gain, drive in ((2.0, 0.2), (1.5, 1.0), (0.9, 0.5))
    ]
    draw_against_distance(squares, [*curves, (attention, "attention over 32 tokens")])
    squares.set(
        ylabel="mean squared gradient",
        title="Gradients of recurrent tanh layers fade or grow,\nattention's stays level",
    )
    told = "std: standard deviation; gain: std of the recurrent\nweights times the root of the width"
    squares.legend(loc="center right", bbox_to_anchor=(1.0, 0.55), fontsize=8, title=told, title_fontsize=8)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="recurrence",
    question="What does a recurrent layer save against attention, and what does it lose?",
    claims=(*recurrence.CLAIMS, *gradients_at_distance.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
