"""What do more projections help where random features have no variance?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import infinite_variance as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """How often an estimate is off by more than a tenth, against the number of projections."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Generalized exponential random features of $e^{x\\cdot y}$, with $A\\|w\\|^2$ in the exponent, "
        "have infinite variance\n"
        "from $A = 1/8$ on. They are unbiased, but at $A = 0.24$ more projections hardly help",
        columns=3,
        size=(11.0, 4.4),
    )
    for series, (ax, a) in enumerate(zip(axes, (0.15, 0.2, 0.24), strict=True)):
        curve = findings.of("error-chance-without-variance", a=a)
        style.draw_predicted(ax, curve, "m", series=series, label="features with this $A$")
        style.draw_measured(ax, curve, "m", series=series)
        rivals = [f.rival.predicted.low for f in curve if f.rival is not None]
        label = r"refuted: as if errors fell as $m^{-1/2}$"
        ax.plot(curve.values("m"), rivals, color=style.REFUTED, linestyle=(0, (4, 3)), label=label)
        ax.set(xscale="log", xlabel="projections $m$", ylim=(0, 1.05), title=f"$A = {a:g}$")
        ax.set_xticks(curve.values("m"), [str(m) for m in curve.values("m")])
        ax.minorticks_off()
        ax.legend(loc="lower left")
    axes[0].set(ylabel=f"chance that an estimate of $e^{{x\\cdot y}}$\nerrs by more than {claims.TOLERANCE:.0%}")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="infinite_variance",
    question="What do more projections help where random features have no variance?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
