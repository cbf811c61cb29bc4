"""What do coupled projections gain, and what must their norms be?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import bias, coupling
from attnlab_theory.experiment import Experiment, main

NAME = "orthogonal-feature-error"


def draw_figure(findings: Findings):
    """The error with orthogonal projections beside that of independent ones, and the bias of fixed norms."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "Random features of $e^{x\\cdot y}$ err less with orthogonal projection vectors\n"
        r"than with independent ones; if all vectors have the norm $\sqrt{d}$, the features are biased",
        columns=2,
        size=(10.4, 4.4),
    )
    for series, estimator in enumerate(("hyperbolic", "trigonometric")):
        errors = findings.of(NAME, difference_square=0.5, sum_square=0.5, estimator=estimator)
        square = Findings(f.times(f.setting["m"]) for f in errors if f.setting["m"] == f.setting["d"])
        style.draw_predicted(left, square, "d", series=series, label=f"{estimator}, orthogonal")
        style.draw_measured(left, square, "d", series=series)
    # L = D here, so both estimators have the same error with independent projections.
    widest = findings.of(NAME, estimator="trigonometric", d=16)[0]
    assert widest.rival is not None
    level = widest.setting["m"] * widest.rival.predicted.low
    left.axhline(
        level, color=style.REFUTED, linestyle=(0, (4, 3)), label="refuted: no less than with independent vectors"
    )
    left.set(
        xscale="log",
        xlabel=r"width $d$, with $m = d$ projections, $\|x + y\|^2 = \|x - y\|^2 = \frac{1}{2}$",
        ylabel=r"relative mean squared error $\times\ m$",
        ylim=(0, 0.19),
    )
    left.set_xticks(coupling.WIDTHS, [str(d) for d in coupling.WIDTHS])
    left.minorticks_off()
    left.legend(loc="upper right")
    fixed = findings.of("sqrt-norms-are-biased")
    style.draw_predicted(right, fixed, "sum_square", label=r"positive, orthogonal, norms $\sqrt{d}$")
    style.draw_measured(right, fixed, "sum_square")
    chi = findings.of("orthogonal-features-are-unbiased")
    style.draw_predicted(
        right, chi, "sum_square", series=1, label=r"positive, orthogonal, norms drawn from $\chi_d$"
    )
    style.draw_measured(right, chi, "sum_square", series=1)
    right.set(xlabel=r"$\|x + y\|^2$, at $d = m = 8$", ylabel=r"mean estimate of $e^{x\cdot y}$ / true value")
    right.legend(loc="lower left")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="orthogonal_features",
    question="What do coupled projections gain, and what must their norms be?",
    claims=(
        *coupling.CLAIMS,
        bias.ORTHOGONAL,
        bias.QUASI,
        bias.FIXED_NORMS,
        bias.FIXED_NORMS_UNBIASED,
        bias.PLAIN_QR,
    ),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
