"""Does a difference of two softmax maps cancel noise?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sharpness import CLAIMS
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The noise of a difference against the correlation of its two maps."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels(
        "A difference of two softmax maps cancels the noise\nthat they share, and adds what they do not share"
    )
    every = findings.of("noise-power-of-a-difference")
    for series, lam in enumerate(style.series_of(every, "lam")):
        chosen = every.of("noise-power-of-a-difference", lam=lam)
        label = rf"difference, $\lambda = {lam:g}$: $(1 + \lambda^2)A - 2\lambda B$"
        style.draw_predicted(ax, chosen, "rho", series=series, label=label)
        style.draw_measured(ax, chosen, "rho", series=series)
    alone = findings.of("differential-attention-cancels-noise")[0].predicted.high
    ax.axhline(alone, color="#777777", linewidth=1, linestyle="--", label="one map: $A$")
    ax.set(
        ylim=(0, None),
        xlabel=r"correlation $\rho$ of the two scores of a key, which spread by $\sigma = 2$",
        ylabel=r"noise $\Sigma w^2$ of 64 irrelevant keys",
    )
    ax.legend(loc="lower left")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="difference_noise",
    question="Does a difference of two softmax maps cancel noise?",
    claims=CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
