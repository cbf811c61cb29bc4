"""How fast does the error fall with the number of heads?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import many_heads as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Error against the number of heads, for one stretched key and for all of them."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "The error of $H$ heads that average $H$ values falls as $1/H^2$ if one key has a random length,\n"
        "as $1/H$ if all have",
        columns=2,
        size=(9.0, 4.0),
    )
    one = findings.of("many-heads-error")
    every = findings.of("many-heads-error-with-all-keys-stretched")
    panels = (
        (one, "one key has a random length", r"about $1/H^2$"),
        (every, "all keys have random lengths", r"about $1/H$"),
    )
    for ax, (chosen, title, law) in zip(axes, panels, strict=True):
        style.draw_predicted(ax, chosen, "heads", label=law)
        style.draw_measured(ax, chosen, "heads")
        ax.set_xscale("log", base=2)
        ax.set(
            title=rf"{title} (16 keys, $\beta = 30$)",
            yscale="log",
            ylim=(2.5e-4, 0.2),
            xlabel="number of heads, and of keys to average, $H$",
            ylabel="mean squared error of the\naverage of $H$ values",
            xlim=(1.8, 18),
            xticks=[2, 4, 8, 16],
            xticklabels=["2", "4", "8", "16"],
        )
    style.draw_refuted(axes[1], findings.of("many-heads-square-law"), "heads", label=r"$1/H^2$ here, too")
    for ax in axes:
        ax.legend(loc="lower left")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="many_heads",
    question="How fast does the error fall with the number of heads?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
