"""How often can one query average two keys that lie anywhere?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import selectable_pairs as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Share of random single keys and pairs that are faces of their hull, against the dimension."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels(
        "In few dimensions most pairs of keys cannot be averaged by any query", size=(7.0, 4.4)
    )
    share = findings.of("share-of-selectable-sets")
    curves = [(1, 16.0), *((2, n) for n in style.series_of(share.of("share-of-selectable-sets", size=2), "n"))]
    for series, (size, n) in enumerate(curves):
        chosen = share.of("share-of-selectable-sets", size=size, n=n)
        label = f"{'single keys' if size == 1 else 'pairs'} of {n:.0f} random keys"
        style.draw_predicted(ax, chosen, "d", series=series, label=label)
        style.draw_measured(ax, chosen, "d", series=series)
    cyclic = findings.of("every-pair-of-a-cyclic-polytope", n=9)
    style.draw_measured(ax, cyclic, "d", series=5, label="pairs of 9 keys at the best places (a cyclic polytope)")
    ax.set(
        xlabel="dimension of the keys, $d$",
        ylabel="share of the keys that some query copies,\nor of the pairs that some query averages",
        ylim=(-0.03, 1.05),
        xticks=style.series_of(share, "d"),
    )
    ax.legend(loc="lower right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="selectable_pairs",
    question="How often can one query average two keys that lie anywhere?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
