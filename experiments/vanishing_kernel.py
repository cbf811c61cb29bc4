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
    ax.set(title=rf"One pair, $\|x+y\|^2 = {phase.SUM:g}$")
    ax.invert_xaxis()
    ax.legend()


SWEEPS = (
    ("d", normaliser.BY_WIDTH, "width $d$", "64 keys, 64 projections"),
    ("n", normaliser.BY_LENGTH, "keys $n$", "width 16, 64 projections"),
    ("m", normaliser.BY_PROJECTIONS, "projections $m$", "width 16, 64 keys"),
)


def draw_failures(ax, findings: Findings, sweep: tuple) -> None:
    """How often the normaliser of a row is not positive, against one field of the setting."""
    from attnlab_theory.report import style

    field, settings, name, fixed = sweep
    chosen = Findings(
        findings.of("normaliser-of-trigonometric-features-is-not-positive", n=s.n, d=s.d, m=s.m)[0]
        for s in settings
    )
    style.draw_predicted(ax, chosen, field)
    style.draw_measured(ax, chosen, field)
    ax.set(xscale="log", xlabel=name, ylim=(0, 0.45), title=fixed)
    ax.set_xticks(chosen.values(field), [str(x) for x in chosen.values(field)])
    ax.minorticks_off()


def draw_figure(findings: Findings):
    """Relative variance as the kernel vanishes; how often the normaliser is not positive."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        r"As the kernel $e^{x \cdot y}$ vanishes, the relative variance of its estimates by trigonometric "
        "random features\ngrows without bound; estimated normalisers "
        "(sums of estimates over a row) can be negative",
        columns=4,
        size=(15.0, 4.2),
    )
    draw_relative(axes[0], findings)
    for ax, sweep in zip(axes[1:], SWEEPS, strict=True):
        draw_failures(ax, findings, sweep)
    axes[1].set(ylabel=r"chance of a normaliser $\leq 0$")
    style.legend(figure)
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
