"""How much weight is lost when a cheap indexer chooses the keys?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims import selection as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The weight that is left out against the correlation of the indexer with the true scores."""
    from attnlab_theory.report import style

    chosen, cooler = findings.of("left-out-by-an-indexer"), findings.of("an-indexer-is-a-cooler-head")
    setting = chosen[0].setting
    figure, (panel,) = style.panels(
        "An indexer reads as a cooler head would:\nwhat it leaves out grows as soon as it is not perfect",
        columns=1,
    )
    style.draw_predicted(panel, chosen, "rho", label="chosen by the indexer")
    style.draw_measured(panel, chosen, "rho")
    style.draw_predicted(
        panel,
        cooler,
        "rho",
        series=1,
        label=r"about what the best keys of a cooler head leave out, of spread $\rho\sigma$",
    )
    best = chosen[0].rival
    assert best is not None
    panel.axhline(best.predicted.low, color="0.4", linestyle="dotted", label="the best keys themselves")
    panel.set(
        xlabel="correlation of index scores and true scores",
        ylabel="weight of the keys that are not read",
        title=f"{setting['k']} of {setting['n']} keys, scores of spread {setting['sigma']:g}",
        ylim=(0, 1),
    )
    panel.legend(loc="upper right", fontsize=9)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="indexers",
    question="How much weight is lost when a cheap indexer chooses the keys?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
