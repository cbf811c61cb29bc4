"""How far is one query's output from the average of the values it wants?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import averaging as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Error of an average against the query's strength, for several n and several sizes of the set."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "The stronger a query is, the better it averages the wanted values: the error falls as e$^{−β}$", columns=2
    )
    error = findings.of("average-error")
    for series, n in enumerate(style.series_of(error, "n")):
        chosen = error.of("average-error", n=n, size=2)
        style.draw_predicted(left, chosen, "beta", series=series, label=f"{n} keys")
        style.draw_measured(left, chosen, "beta", series=series)
    unscaled = findings.of("mean-of-two-keys-averages-two")
    style.draw_measured(
        left, unscaled, "beta", series=4, label="query = mean of the two keys\n(64, 16, 4 keys from the top)"
    )
    for series, size in enumerate(style.series_of(error, "size")):
        chosen = error.of("average-error", n=16, size=size)
        style.draw_predicted(right, chosen, "beta", series=series, label=f"{size} wanted keys")
        style.draw_measured(right, chosen, "beta", series=series)
    for ax in (left, right):
        ax.set(
            yscale="log",
            xlabel=r"strength of the query, $\beta$",
            ylabel="error (0: mean of the wanted\nvalues, 1: mean of the others)",
        )
    left.set_title("Two keys are wanted")
    right.set_title("Some of 16 keys are wanted")
    left.legend()
    right.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="averaging",
    question="How far is one query's output from the average of the values it wants?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
