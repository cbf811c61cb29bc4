"""How far is a row of attention made of random features off, and how does that fall with their number?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import rows as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Error and bias of one output against the number of projections; how far one weight is off."""
    from attnlab_theory.report import style

    figure, (error, bias, few, many) = style.panels(
        "Attention made of positive random features is biased, and its weights are not normally distributed",
        rows=2,
        columns=2,
        size=(11.0, 8.0),
    )
    for series, estimator in enumerate(("positive", "hyperbolic")):
        curve = findings.of("error-of-the-ratio", estimator=estimator)
        style.draw_predicted(error, curve, "m", series=series, label=f"{estimator} features")
        style.draw_measured(error, curve, "m", series=series)
    style.draw_refuted(error, findings.of("delta-method-at-few-projections"), "m", label="delta method")
    squared = findings.of("error-of-the-ratio-falls-as-one-over-m", estimator="positive")
    style.draw_refuted(error, squared, "m", label="error falls as $1/m^2$", series=1)
    error.set(
        title="More projections lower the error",
        ylabel="mean squared error of an output",
        yscale="log",
        ylim=(5e-4, 0.2),
    )
    shown = findings.of("bias-of-the-ratio")
    style.draw_predicted(bias, shown, "m", label="positive features")
    style.draw_measured(bias, shown, "m")
    style.draw_refuted(bias, findings.of("the-ratio-is-unbiased"), "m", label="no bias")
    bias.set(title="More projections lower the bias", ylabel="bias of an output")
    for ax, ticks in ((error, [4, 8, 16, 32]), (bias, [4, 16, 64])):
        ax.set(xscale="log", xlabel="projections $m$")
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        ax.legend()
    normal = findings.of("weights-within-one-deviation")[0].rival
    assert normal is not None
    for ax, f in ((few, 64), (many, 256)):
        for series, estimator in enumerate(("positive", "hyperbolic")):
            curve = findings.of("weights-within-one-deviation", estimator=estimator, f=f)
            style.draw_predicted(ax, curve, "offset", series=series, label=f"{estimator} features")
            style.draw_measured(ax, curve, "offset", series=series)
        ax.axhline(
            normal.predicted.centre, color=style.REFUTED, linestyle=(0, (4, 3)), label="refuted: a normal law"
        )
        ax.set(title=f"Weights crowd near their mean, {f} features", ylim=(0.5, 1.02))
        ax.set(
            xlabel="places between query and key",
            ylabel="share of weights within\none standard deviation",
            xticks=range(5),
        )
        ax.legend(loc="lower left")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="feature_rows",
    question="How far is a row of attention made of random features off, and how does that fall with their number?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
