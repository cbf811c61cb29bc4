"""What does a row of attention made of random features look like, and how does its error fall?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import rows as claims
from attnlab_theory.experiment import Experiment, main


def draw_matrices(axes, findings: Findings) -> None:
    """The exact weights, and the weights that one draw of features gives."""
    import numpy as np

    tables = {}
    for estimator in ("positive", "trigonometric"):
        entries = findings.of("weights-of-one-draw", estimator=estimator)
        n, f = entries[0].setting["n"], entries[0].setting["f"]
        tables["exact weights"] = np.array([f.predicted.centre for f in entries]).reshape(n, n)
        tables[f"from {f} {estimator} features"] = np.array([f.measured.centre for f in entries]).reshape(n, n)
    top = max(table.max() for table in tables.values())
    low = min(0.0, *(table.min() for table in tables.values()))
    images = []
    for ax, (title, table) in zip(axes, tables.items(), strict=True):
        images.append(ax.imshow(table, vmin=low, vmax=top))
        ax.set(title=title, xlabel="key", ylabel="query", xticks=[], yticks=[])
        ax.grid(False)
    axes[-1].figure.colorbar(images[-1], ax=axes, shrink=0.8, label="weight")


def draw_figure(findings: Findings):
    """Matrices side by side; the error and the bias of one output against the number of projections."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Attention from $m$ random projections: its mean square error and its bias both fall as $1/m$",
        rows=2,
        columns=3,
        size=(13.0, 8.0),
    )
    draw_matrices(axes[:3], findings)
    for series, estimator in enumerate(("positive", "hyperbolic")):
        curve = findings.of("error-of-the-ratio-by-the-delta-method", estimator=estimator)
        style.draw_predicted(axes[3 + series], curve, "m", series=series, label="band of the prediction")
        style.draw_measured(axes[3 + series], curve, "m", series=series)
        axes[3 + series].set(title=f"mean square error, {estimator} features", yscale="log", ylim=(1e-4, 2e-2))
    wrong = findings.of("error-of-the-ratio-falls-as-one-over-m")
    style.draw_refuted(axes[3], wrong, "m", label=r"falls as $1/m^2$")
    bias = findings.of("bias-of-the-ratio")
    style.draw_predicted(axes[5], bias, "m", label="band of the prediction")
    style.draw_measured(axes[5], bias, "m")
    style.draw_refuted(axes[5], findings.of("the-ratio-is-unbiased"), "m", label="no bias")
    axes[5].set(title="bias, positive features")
    for ax in axes[3:]:
        ax.set(xscale="log", xlabel="projections $m$")
        ax.set_xticks([16, 64, 256], ["16", "64", "256"])
        ax.minorticks_off()
        ax.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="feature_rows",
    question="What does a row of attention made of random features look like, and how does its error fall?",
    claims=(claims.BIAS, claims.UNBIASED, claims.ERROR, claims.FALLS_FASTER, claims.MATRIX),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
