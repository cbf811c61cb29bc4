"""Which random features have the least variance at equal numbers of features?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims import estimator_phase as claims
from attnlab_theory.experiment import Experiment, main

SHADES = {"trigonometric": "#cfe3f1", "hyperbolic": "#f5cdb0", "generalized exponential": "#c9e8dd"}
HATCHES = {"trigonometric": "", "hyperbolic": "//", "generalized exponential": ".."}


def draw_regions(ax) -> None:
    """Where the formulas say that each estimator wins: a prediction, drawn as a shade instead of a line."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    from attnlab_theory.theory import feature_covariance as theory

    axis = np.geomspace(0.2, 13, 220)
    names = list(SHADES)
    best = [
        [names.index(theory.winner(total, difference, d=claims.WIDTH)) for total in axis] for difference in axis
    ]
    ax.pcolormesh(axis, axis, best, cmap=ListedColormap(list(SHADES.values())), shading="nearest", rasterized=True)
    for i, name in enumerate(names):
        here = (np.asarray(best) == i).astype(float)
        if HATCHES[name]:
            ax.contourf(axis, axis, here, levels=[0.5, 1.5], colors="none", hatches=[HATCHES[name]])
        ax.contour(axis, axis, here, levels=[0.5], colors="#555555", linewidths=1)


def winners(findings: Findings) -> list[tuple[float, float, str, bool]]:
    """Every point (L, D) with the estimator measured best, and whether its interval lies below all others."""
    measured = findings.of("variance-at-equal-numbers-of-features")
    points = dict.fromkeys((f.setting["sum_square"], f.setting["difference_square"]) for f in measured)
    won = []
    for total, difference in points:
        here = measured.of(measured[0].claim, sum_square=total, difference_square=difference)
        first, second = sorted(here, key=lambda f: f.measured.centre)[:2]
        won.append((total, difference, first.setting["estimator"], first.measured.high < second.measured.low))
    return won


def draw_figure(findings: Findings):
    """Regions as predicted, winners as measured; the variances behind one column of the diagram."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Long sums want trigonometric features, short ones hyperbolic; plain positive ones never win",
        columns=2,
        size=(10.4, 4.6),
    )
    draw_regions(axes[0])
    for i, name in enumerate(SHADES):
        for clear in (True, False):
            chosen = [(x, y) for x, y, best, apart in winners(findings) if best == name and apart == clear]
            if chosen:
                face = style.COLOURS[i] if clear else "white"
                label = name if clear else f"{name}, within the noise"
                points = list(zip(*chosen, strict=True))
                axes[0].plot(
                    *points, style.MARKERS[i], color=style.COLOURS[i], markerfacecolor=face, ms=8, label=label
                )
    axes[0].set(xscale="log", yscale="log", xlabel=r"$L = \|x+y\|^2$", ylabel=r"$D = \|x-y\|^2$")
    axes[0].set(title=rf"shade: predicted best; marker: measured best ($d = {claims.WIDTH}$)")
    axes[0].grid(False)
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    for series, estimator in enumerate((*SHADES, "positive")):
        curve = findings.of("variance-at-equal-numbers-of-features", estimator=estimator, difference_square=2.0)
        style.draw_predicted(axes[1], curve, "sum_square", series=series, label=estimator)
        style.draw_measured(axes[1], curve, "sum_square", series=series)
    axes[1].set(
        xscale="log", yscale="log", xlabel=r"$L = \|x+y\|^2$", ylabel=r"relative variance $\times$ features"
    )
    axes[1].set(title="along $D = 2$")
    axes[1].legend()
    return figure


EXPERIMENT = Experiment(
    name="estimator_phases",
    question="Which random features have the least variance at equal numbers of features?",
    claims=(claims.PHASES, claims.POSITIVE_WINS_NEARBY),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
