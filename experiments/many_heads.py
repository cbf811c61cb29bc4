"""How fast does the error fall with the number of heads?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import many_heads as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Error against the number of heads, for one stretched key and for all of them."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels("A head for each key: error like 1/H if all keys are stretched, 1/H² if one")
    errors = findings.of("many-heads-error")
    one = Findings(f for f in errors if f.setting["stretched"] == 1)
    every = Findings(f for f in errors if f.setting["stretched"] == f.setting["heads"])
    for series, (chosen, label) in enumerate(
        (
            (every, "all keys stretched"),
            (one, "one key stretched"),
            (findings.of("many-heads-square-law"), r"foil: $1/H^2$ for all"),
        )
    ):
        style.draw_predicted(ax, chosen, "heads", series=series, label=label)
        if series < 2:
            style.draw_measured(ax, chosen, "heads", series=series)
    ax.set_xscale("log", base=2)
    ax.set(
        yscale="log",
        xlabel="number of heads, and of keys to average, $H$",
        ylabel=r"$\mathbb{E}\|c - \frac{1}{H}\sum_h v_h\|^2$",
        xticks=[1, 2, 4, 8, 16],
        xticklabels=["1", "2", "4", "8", "16"],
    )
    ax.legend(title=r"$n = 16$, $\beta = 30$; line predicted, interval measured", title_fontsize=9)
    return figure


EXPERIMENT = Experiment(
    name="many_heads",
    question="How fast does the error fall with the number of heads?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
