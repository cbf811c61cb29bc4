"""Which random features have the least variance at equal numbers of features?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import phase as claims
from attnlab_theory.experiment import Experiment, main


def measured_variances(findings: Findings) -> Findings:
    """Relative variance times features of all five estimators."""
    return Findings(f for claim in (claims.PHASES, claims.PAIRS) for f in findings.of(claim.name))


def winners(findings: Findings) -> list[tuple[float, float, str, bool]]:
    """Every point (L, D) with the estimator measured best, and whether its interval lies below all others."""
    measured = measured_variances(findings)
    points = dict.fromkeys((f.setting["sum_square"], f.setting["difference_square"]) for f in measured)
    won = []
    for total, difference in points:
        at = {"sum_square": total, "difference_square": difference}
        here = (f for f in measured if at.items() <= f.setting.items())
        first, second = sorted(here, key=lambda f: f.measured.centre)[:2]
        won.append((total, difference, first.setting["estimator"], first.measured.high < second.measured.low))
    return won


def draw_figure(findings: Findings):
    """Regions as predicted, winners as measured, and the variances of one column of the diagram."""
    import numpy as np

    from attnlab_theory.estimators.figures import SHADES, draw_regions
    from attnlab_theory.report import style

    won = winners(findings)
    trigonometric, hyperbolic, dense = (sum(best == name for *_, best, _ in won) for name in SHADES)
    title = (
        rf"Of five kinds of random features for $e^{{x\cdot y}}$, trigonometric ones have the least variance at "
        f"{trigonometric} of {len(won)} points (small $D$),\n"
        f"hyperbolic ones at {hyperbolic} (small $L$), dense exponential ones at {dense} (larger $L$ and $D$)"
    )
    figure, axes = style.panels(title, columns=2, size=(10.4, 4.8))
    axis = np.geomspace(0.2, 13, 220)
    draw_regions(axes[0], axis, axis, d=claims.WIDTH)
    for i, name in enumerate(SHADES):
        for clear in (True, False):
            chosen = [(x, y) for x, y, best, apart in won if best == name and apart == clear]
            if chosen:
                face = style.COLOURS[i] if clear else "white"
                label = name if clear else f"{name}, within the noise"
                points = list(zip(*chosen, strict=True))
                axes[0].plot(*points, style.MARKERS[i], color="white", ms=13)
                axes[0].plot(
                    *points, style.MARKERS[i], color=style.COLOURS[i], markerfacecolor=face, ms=8, label=label
                )
    axes[0].plot(
        [],
        [],
        "--",
        color="#333333",
        linewidth=1.2,
        label="border with generalized in place of dense exponential",
    )
    axes[0].plot(axis, axis, ":", color="#777777", linewidth=1, label="$D = L$")
    axes[0].set(title=rf"Shade: predicted best; marker: measured best ($d = {claims.WIDTH}$)")
    axes[0].grid(False)
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)
    for series, estimator in enumerate((*SHADES, "positive", "generalized exponential")):
        at = {"estimator": estimator, "difference_square": 2.0}
        curve = Findings(f for f in measured_variances(findings) if at.items() <= f.setting.items())
        label = "positive (same line as hyperbolic at large $L$)" if estimator == "positive" else estimator
        style.draw_predicted(axes[1], curve, "sum_square", series=series, label=label)
        style.draw_measured(axes[1], curve, "sum_square", series=series)
    axes[1].set(
        xscale="log",
        yscale="log",
        xlabel=r"$L = \|x+y\|^2$",
        ylabel=r"relative variance $\times$ number of features",
    )
    axes[1].set(title="Dense exponential features win along most of $D = 2$")
    axes[1].legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="estimator_phases",
    question="Which random features have the least variance at equal numbers of features?",
    claims=(claims.PHASES, claims.PAIRS, claims.POSITIVE_WINS_NEARBY),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
