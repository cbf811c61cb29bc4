"""Which random features survive where the kernel vanishes, and what happens to a row's normaliser?"""

import math

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import normaliser, phase
from attnlab_theory.experiment import Experiment, main


def draw_relative(ax, findings: Findings) -> None:
    """Relative deviation against the kernel's value, at one |x + y|."""
    from attnlab_theory.report import style

    for series, estimator in enumerate(("trigonometric", "positive")):
        curve = findings.of("relative-variance-as-the-kernel-vanishes", estimator=estimator)
        kernel = [math.exp((f.setting["sum_square"] - f.setting["difference_square"]) / 4) for f in curve]
        look = {"color": style.COLOURS[series]}
        ax.plot(kernel, [f.predicted.low for f in curve], style.DASHES[series], label=estimator, **look)
        ends = [[f.measured.centre for f in curve], [f.measured.width / 2 for f in curve]]
        ax.errorbar(kernel, ends[0], yerr=ends[1], fmt=style.MARKERS[series], markerfacecolor="white", **look)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=r"kernel value $e^{x \cdot y}$",
        ylabel="relative variance, one projection",
    )
    ax.set(title=rf"at $\|x+y\|^2 = {phase.SUM:g}$, ever farther apart")
    ax.invert_xaxis()
    ax.legend(title="line predicted, interval measured", title_fontsize=9)


def draw_failures(ax, findings: Findings) -> None:
    """Probability of a normaliser that is not positive: one field of the setting at a time."""
    from attnlab_theory.report import style

    sweeps = {
        "width $d$": ("d", normaliser.BY_WIDTH, "64 keys, 64 projections"),
        "length $n$": ("n", normaliser.BY_LENGTH, "$d = 16$, 64 projections"),
        "projections $m$": ("m", normaliser.BY_PROJECTIONS, "$d = 16$, 64 keys"),
    }
    for series, (name, (field, settings, fixed)) in enumerate(sweeps.items()):
        chosen = Findings(
            findings.of("normaliser-of-trigonometric-features-is-not-positive", n=s.n, d=s.d, m=s.m)[0]
            for s in settings
        )
        style.draw_predicted(ax, chosen, field, series=series)
        style.draw_measured(ax, chosen, field, series=series, label=f"{name} ({fixed})")
    ax.set(xscale="log", xlabel="width, length or projections", ylabel=r"P(normaliser $\leq 0$)", ylim=(0, 0.58))
    ax.set(title=r"coordinates of size 1, scale $1/\sqrt{d}$")
    ax.set_xticks([4, 9, 16, 36, 64, 256], ["4", "9", "16", "36", "64", "256"])
    ax.minorticks_off()
    ax.legend(loc="upper right")


def draw_figure(findings: Findings):
    """Relative variance as the kernel vanishes; how often the normaliser is not positive."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Trigonometric features lose small kernel values, and rows of wide heads their normaliser", columns=2
    )
    draw_relative(axes[0], findings)
    draw_failures(axes[1], findings)
    return figure


EXPERIMENT = Experiment(
    name="vanishing_kernel",
    question="Which random features survive where the kernel vanishes, and what happens to a row's normaliser?",
    claims=(
        phase.BREAKS,
        phase.TRIGONOMETRIC_HOLDS,
        phase.POSITIVE_IS_SAFE,
        phase.OPPOSITES,
        normaliser.NORMALISER,
        normaliser.NORMALISER_OF_POSITIVE,
        normaliser.WEIGHTS_INSIDE,
    ),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
