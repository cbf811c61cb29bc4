"""What do rotary and sinusoidal positions know of distance?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.positions import rotary as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Mean score, its envelope by octaves, the cost of a doubling, the product of sinusoids: against distance."""
    from attnlab_theory.report import style

    figure, (score, largest, cost, waves) = style.panels(
        "The mean rotary score depends on the distance alone. The largest mean score among the distances\n"
        r"$2^j$ to $2^{j+1}$ falls as $j$ grows, but not at width $d$ = 2",
        2,
        2,
    )
    panels = (
        (score, "rotary-mean-score", "start", "distance", "query at place {:g}"),
        (largest, "rotary-envelope", "d", "octave", "width $d$ = {}"),
        (waves, "sinusoidal-product", "start", "distance", "first place $t$ = {:g}"),
        (cost, "rotary-doubling-cost", "base", "nearest", "base $b$ = {:g}"),
    )
    for ax, claim, field, x, label in panels:
        found = findings.of(claim)
        for series, value in enumerate(style.series_of(found, field)):
            chosen = found.of(claim, **{field: value})
            style.draw_predicted(ax, chosen, x, series=series)
            style.draw_measured(ax, chosen, x, series=series, label=label.format(value))
        ax.legend()
    score.set(xscale="log", xlabel=r"distance $\delta$ (tokens)", ylabel=r"mean score of a random unit $q = k$")
    score.set_title("The mean score falls, with bumps, $d$ = 64")
    largest.set(
        xlabel=r"$j$, for the distances $2^j \leq \delta < 2^{j+1}$", ylabel="largest mean score at these distances"
    )
    largest.set_title("The largest score falls, but not at width 2")
    cost.set(
        xscale="log", xlabel=r"distance before it doubles (tokens)", ylabel="score lost when the distance doubles"
    )
    cost.set_title(r"A doubled distance costs about $\ln 2\,/\,\ln b$")
    waves.set(xlabel=r"distance $\delta$ (tokens)", ylabel=r"$PE(t) \cdot PE(t + \delta)\,/\,(d/2)$")
    waves.set_title("Sinusoids depend on distance alone, $d$ = 64")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="rotary_decay",
    question="What do rotary and sinusoidal positions know of distance?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
