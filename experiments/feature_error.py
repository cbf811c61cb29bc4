"""How far off are random features, and which map is nearest?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import bias, variance
from attnlab_theory.experiment import Experiment, main

LABELS = {
    "trigonometric": "trigonometric",
    "positive": "positive",
    "hyperbolic": "hyperbolic",
    "generalized exponential": r"generalized exponential",
    "dense exponential": "dense exponential",
}


def draw_figure(findings: Findings):
    """The error against the number of projections, and against |x + y|^2 with tilted draws at the far end."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "The error of every random feature map falls as $1/m$ with $m$ projections;\n"
        "where $x + y$ is long, dense exponential features err least",
        columns=2,
        size=(10.4, 4.6),
    )
    tilted = findings.of("feature-error-by-tilted-draws")
    for series, (estimator, label) in enumerate(LABELS.items()):
        chosen = findings.of("feature-error", estimator=estimator)
        against_m = chosen.of("feature-error", sum_square=0.5)
        style.draw_predicted(left, against_m, "m", series=series, label=label)
        style.draw_measured(left, against_m, "m", series=series)
        against_length = [f for f in chosen if f.setting["m"] == variance.SWEPT]
        if estimator in ("positive", "hyperbolic"):
            against_length += tilted.of("feature-error-by-tilted-draws", estimator=estimator)
        per_projection = Findings(f.times(f.setting["m"]) for f in against_length)
        style.draw_predicted(right, per_projection, "sum_square", series=series)
        style.draw_measured(right, per_projection, "sum_square", series=series)
    left.set(
        xscale="log",
        yscale="log",
        xlabel=r"projections $m$ at $L = \|x+y\|^2 = \frac{1}{2}$, $D = \|x-y\|^2 = 1$, $d = 8$",
        ylabel="relative mean squared error",
    )
    left.set_xticks(variance.COUNTS, [str(m) for m in variance.COUNTS])
    left.minorticks_off()
    left.legend()
    right.set(
        xscale="log",
        yscale="log",
        xlabel="$L = \\|x + y\\|^2$ (for $L > 1$, positive and hyperbolic\n"
        "features are measured by importance sampling)",
        ylabel="relative mean squared error times $m$",
        title="$D = 2L$, $d = 8$",
    )
    lengths = (0.25, 0.5, 1, 2, 4, 8)
    right.set_xticks(lengths, [f"{length:g}" for length in lengths])
    right.minorticks_off()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="feature_error",
    question="How far off are random features, and which map is nearest?",
    claims=(bias.UNBIASED, *variance.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
