"""When is noise in the keys small?"""

import math

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import small_noise as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Both walls of the harmless window, and how far the delta method carries."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "A query errs little on noisy keys if it is strong enough to select the wanted ones,\n"
        "but too weak to amplify the noise",
        columns=2,
    )
    errors = findings.of("small-noise-error")
    for series, variance in enumerate(style.series_of(errors, "variance")):
        chosen = errors.of("small-noise-error", variance=variance)
        style.draw_predicted(
            left, chosen, "beta", series=series, label=rf"$a = 10^{{{round(math.log10(variance))}}}$"
        )
        style.draw_measured(left, chosen, "beta", series=series)
    left.set(
        xscale="log",
        yscale="log",
        xlabel=r"strength of the query, $\beta$",
        ylabel="mean squared error of the\naverage of two values",
    )
    left.legend(title="noise variance", title_fontsize=9)
    proved, forever = findings.of("delta-method"), findings.of("delta-method-at-any-noise")
    style.draw_predicted(right, proved, "variance", label="proved range")
    style.draw_refuted(
        right, forever, "variance", label=f"always within {100 * (forever[0].predicted.high - 1):.0f} %"
    )
    for chosen in (proved, forever):
        style.draw_measured(right, chosen, "variance")
    right.set(
        xscale="log",
        xlabel=r"noise variance $a$ at $\beta = 30$",
        ylabel=r"error / the delta method's $a\beta^2/2$",
    )
    right.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="small_noise",
    question="When is noise in the keys small?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
