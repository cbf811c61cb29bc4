"""How fast does pure self-attention make all tokens alike?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.limits import rank_collapse as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The tokens' diameter against the number of layers, without and with a skip connection."""
    from attnlab_theory.report import style

    figure, (pure, skip, cubes) = style.panels(
        "A layer of pure self-attention shrinks a small distance $D$ of two tokens to $D^3/4$ or less;\n"
        "with a skip connection they stay apart",
        columns=3,
    )
    pairs = findings.of("two-tokens-collapse", skip=False, strength=1.0)
    for series, diameter in enumerate(style.series_of(pairs, "diameter")):
        chosen = pairs.of("two-tokens-collapse", diameter=diameter)
        style.draw_predicted(pure, chosen, "layers", series=series, label=f"two tokens, $D = {diameter:g}$")
        style.draw_measured(pure, chosen, "layers", series=series)
    crowd = findings.of("a-crowd-collapses-no-slower-than-two", trial=0, scores="identity", t=16)
    style.draw_measured(pure, crowd, "layers", series=3, label="16 random tokens, $D = 2$")
    foil = findings.of("every-layer-takes-the-same-share")
    style.draw_refuted(pure, foil, "layers", label="every layer shrinks $D = 2$ by the same factor")
    pure.set(
        yscale="log",
        xlabel="layers",
        ylabel="largest distance of two tokens",
        title="Without a skip connection tokens become alike",
    )
    pure.set(ylim=(1e-13, None))
    pure.legend(loc="lower left", fontsize=8)
    chosen = findings.of("two-tokens-collapse", skip=True)
    style.draw_predicted(skip, chosen, "layers", label="with a skip connection")
    style.draw_measured(skip, chosen, "layers")
    alone = pairs.of("two-tokens-collapse", diameter=1.0)
    style.draw_predicted(skip, alone, "layers", series=1, label="without")
    style.draw_measured(skip, alone, "layers", series=1)
    skip.set(
        yscale="log",
        xlabel="layers",
        ylabel="distance of two tokens",
        title="With a skip connection they stay apart, $D = 1$",
        xticks=range(1, 5),
    )
    skip.legend(loc="lower left")
    cubic = findings.of("a-layer-cubes-what-tokens-differ-by", t=16, trial=0)
    style.draw_predicted(
        cubes, cubic.of(cubic[0].claim, scores="identity"), "diameter", label="proved bound of the error"
    )
    for series, (scores, label) in enumerate((("identity", "$A = V = I$"), ("general", "random $A$ and $V$"))):
        style.draw_measured(cubes, cubic.of(cubic[0].claim, scores=scores), "diameter", series=series, label=label)
    cubes.set(
        xscale="log",
        yscale="log",
        xlabel="diameter of 16 tokens, $D$",
        ylabel="relative error of $R A \\Sigma_R V^\\top$",
        title="Close tokens: output minus that of the mean token\n"
        "is about $R A \\Sigma_R V^\\top$ ($R$: tokens minus their mean;\n"
        "$\\Sigma_R$: covariance under the mean token's weights)",
    )
    cubes.set_xticks(ticks := [0.05, 0.1, 0.2], [f"{x:g}" for x in ticks])
    cubes.minorticks_off()
    cubes.set_ylim(3e-7, None)
    cubes.legend(loc="lower right", fontsize=8)
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="rank_collapse",
    question="How fast does pure self-attention make all tokens alike?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
