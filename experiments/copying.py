"""How strong must a query be to copy one value out of n?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import copying as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Weight that escapes the wanted key against the strength, and the strength needed against n."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "To copy one of n values, the strength of a query must grow like ln n:\n"
        "the weight of all other keys falls as (n − 1) e$^{−β}$",
        columns=2,
    )
    lost = findings.of("copy-weight")
    for series, n in enumerate(style.series_of(lost, "n")):
        style.draw_predicted(left, lost.of("copy-weight", n=n), "beta", series=series, label=f"$n = {n}$")
        style.draw_measured(left, lost.of("copy-weight", n=n), "beta", series=series)
    left.set(
        yscale="log", xlabel=r"strength of the query, $\beta$", ylabel=r"weight of all other keys, $1 - \alpha_j$"
    )
    needed = findings.of("copy-strength")
    for series, leak in enumerate(style.series_of(needed, "leak")):
        chosen = needed.of("copy-strength", leak=leak)
        style.draw_predicted(right, chosen, "n", series=series, label=rf"$\epsilon = {leak}$")
        style.draw_measured(right, chosen, "n", series=series)
    right.set_xscale("log", base=2)
    right.set(
        xlabel="number of orthonormal keys, $n$",
        ylabel="least strength $\\beta$ at which the\nother keys weigh at most $\\epsilon$",
    )
    left.legend()
    right.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="copying",
    question="How strong must a query be to copy one value out of n?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
