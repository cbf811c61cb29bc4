"""Which of the queries submitted for UW's four keys do what they are said to do?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import four_keys as claims
from attnlab_theory.experiment import Experiment, main

SAID = {
    "mean of all keys": "Query along the mean of all keys: selects $k_2$ alone (wrong)",
    "mean of the first two": "Query along the mean of $k_1$ and $k_2$: selects $k_2$ alone (wrong)",
    "largest margin": "Query along $x$ with $k_1 \\cdot x = k_2 \\cdot x$, others less: right",
    "largest margin, four digits": "Query along $x$ rounded to four digits: selects $k_1$ in the end",
}


def draw_figure(findings: Findings):
    """The four weights under four answers, against the strength of the query."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "To average two keys a query must score both equally: its strength amplifies any difference",
        2,
        2,
        size=(9.6, 6.6),
    )
    weights = findings.of("weights-of-the-four-keys")
    for ax, answer in zip(axes, style.series_of(weights, "answer"), strict=True):
        for key in style.series_of(weights, "key"):
            chosen = weights.of("weights-of-the-four-keys", answer=answer, key=key)
            style.draw_predicted(ax, chosen, "strength", series=key, label=f"$k_{key + 1}$")
            style.draw_measured(ax, chosen, "strength", series=key)
        ax.set_title(SAID[answer], fontsize=10)
        ax.set(xscale="log", ylim=(-0.04, 1.06), xlabel="strength of the query, $S$", ylabel=r"weight $\alpha_i$")
    axes[0].legend(ncols=2, loc="center right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="four_keys",
    question="Which of the queries submitted for UW's four keys do what they are said to do?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
