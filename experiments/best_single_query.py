"""Is one head doomed, or was the query bad?"""

import math

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import best_query as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The best single query against two heads over the noise, and the error of every query for the pair."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "To average the values of two keys, the best single query, which scores all other keys negatively,\n"
        "errs less than two heads that ask for one key each, if the noise is small",
        columns=2,
        size=(10.4, 4.2),
    )
    for series, (name, label) in enumerate(
        (
            ("best-query-for-the-pair-error", r"best single query of the form $x\mu_a + y\mu_b$"),
            ("two-heads-at-their-best", r"two heads, queries $\beta\mu_a$ and $\beta\mu_b$, best $\beta$"),
            ("best-query-error", "best single query of all"),
        )
    ):
        style.draw_predicted(left, findings.of(name), "variance", series=series, label=label)
        style.draw_measured(left, findings.of(name), "variance", series=series)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="variance of the isotropic noise of the keys",
        ylabel="mean squared error of the\naverage of two values",
    )
    left.legend()
    grid = findings.of("no-query-for-the-pair-beats-the-best")
    (variance,) = style.series_of(grid, "variance")
    xs, ys = sorted(set(grid.values("on_a"))), sorted(set(grid.values("on_b")))
    cells = [[grid.of(f.claim, on_a=x, on_b=y)[0].measured.centre for x in xs] for f in grid[:1] for y in ys]
    image = right.imshow(cells, origin="lower", aspect="auto", cmap="cividis_r", vmin=0.1, vmax=0.5)
    for row, y in enumerate(cells):
        for column, value in enumerate(y):
            dark = value > 0.33
            right.annotate(
                f"{value:.2f}",
                (column, row),
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=8,
            )
    right.grid(False)
    right.set(
        xticks=range(len(xs)),
        xticklabels=[f"{x:g}" for x in xs],
        yticks=range(len(ys)),
        yticklabels=[f"{y:g}" for y in ys],
        xlabel=r"$x$, weight of mean key $\mu_a$",
        ylabel=r"$y$, weight of mean key $\mu_b$",
        title=f"Every query $x\\mu_a + y\\mu_b$ errs by {grid[0].predicted.low:.2f} or more\n"
        rf"(noise variance $10^{{{round(math.log10(variance))}}}$; in both panels key $a$ has a random length)",
    )
    figure.colorbar(image, ax=right, label="mean squared error")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="best_single_query",
    question="Is one head doomed, or was the query bad?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
