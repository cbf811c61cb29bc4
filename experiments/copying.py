"""How strong must a query be to copy one value out of n?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims import copying as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Weight that escapes the wanted key, against the query's strength."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels("A query must grow like ln n to copy: the leak falls as (n−1)e^−β")
    lost = findings.of("copy-weight")
    for series, n in enumerate(style.series_of(lost, "n")):
        style.draw_predicted(ax, lost.of("copy-weight", n=n), "beta", series=series, label=f"predicted, n = {n}")
        style.draw_measured(ax, lost.of("copy-weight", n=n), "beta", series=series)
    ax.set(yscale="log", xlabel="strength of the query, β", ylabel="weight off the wanted key, 1 − α_j")
    ax.legend()
    return figure


EXPERIMENT = Experiment(
    name="copying",
    question="How strong must a query be to copy one value out of n?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
