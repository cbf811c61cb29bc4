"""What does a row of attention made of random features look like, and how does its error fall?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import rows as claims
from attnlab_theory.experiment import Experiment, main


def draw_matrices(axes, findings: Findings) -> None:
    """The exact matrix, and for two estimators the approximated one and the difference."""
    import numpy as np

    tables = {}
    for estimator in ("positive", "trigonometric"):
        entries = findings.of("weights-of-one-draw", estimator=estimator)
        n = entries[0].setting["n"]
        tables["exact"] = np.array([f.predicted.centre for f in entries]).reshape(n, n)
        tables[estimator] = np.array([f.measured.centre for f in entries]).reshape(n, n)
    top = max(table.max() for table in tables.values())
    largest = max(np.abs(tables[e] - tables["exact"]).max() for e in ("positive", "trigonometric"))
    shown = {
        "exact weights": tables["exact"],
        "positive features": tables["positive"],
        "positive less exact": tables["positive"] - tables["exact"],
        "trigonometric features": tables["trigonometric"],
        "trigonometric less exact": tables["trigonometric"] - tables["exact"],
    }
    for ax, (title, table) in zip(axes, shown.items(), strict=True):
        is_difference = "less" in title
        limits = (-largest, largest) if is_difference else (min(0.0, tables["trigonometric"].min()), top)
        image = ax.imshow(table, vmin=limits[0], vmax=limits[1], cmap="RdGy" if is_difference else "cividis")
        ax.figure.colorbar(image, ax=ax, shrink=0.75)
        ax.set(title=title, xlabel="key", ylabel="query", xticks=[], yticks=[])
        ax.grid(False)


def draw_figure(findings: Findings):
    """Matrices side by side; the bias and the error of one output against the number of projections."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "The error of attention from random features falls as the root of their number, its bias as their number",
        rows=2,
        columns=4,
        size=(15.5, 7.6),
    )
    draw_matrices([*axes[:3], *axes[4:6]], findings)
    for series, estimator in enumerate(("positive", "hyperbolic")):
        curve = findings.of("error-of-the-ratio-by-the-delta-method", estimator=estimator)
        style.draw_predicted(axes[6], curve, "m", series=series)
        style.draw_measured(axes[6], curve, "m", series=series, label=estimator)
    axes[6].set(title="mean square error", xscale="log", yscale="log", xlabel="projections $m$")
    wrong = findings.of("error-of-the-ratio-falls-as-one-over-m")
    axes[6].plot(wrong.values("m"), [f.predicted.low for f in wrong], "kx", label=r"if its root fell as $1/m$")
    bias = findings.of("bias-of-the-ratio")
    style.draw_predicted(axes[7], bias, "m")
    style.draw_measured(axes[7], bias, "m", label="positive")
    axes[7].axhline(0, color="#888888", linewidth=1)
    axes[7].set(title="bias of the ratio", xscale="log", xlabel="projections $m$")
    for ax in axes[6:]:
        ax.set_xticks([16, 64, 256], ["16", "64", "256"])
        ax.minorticks_off()
        ax.legend()
    note = (
        "Eight points on a circle, attention\nto what is near; 64 features.\n\n"
        "Positive features err where points agree,\ntrigonometric ones everywhere alike.\n\n"
        "Bands: the delta method, give or take\n1.5 times the next term of its series."
    )
    axes[3].text(0, 0.95, note, va="top", fontsize=10)
    axes[3].axis("off")
    return figure


EXPERIMENT = Experiment(
    name="feature_rows",
    question="What does a row of attention made of random features look like, and how does its error fall?",
    claims=(claims.BIAS, claims.UNBIASED, claims.ERROR, claims.FALLS_FASTER, claims.MATRIX),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
