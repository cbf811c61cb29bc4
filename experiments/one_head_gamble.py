"""What does one head make of two keys when one key's length is uncertain?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import one_head as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The share of v_a going bimodal with the strength of the query, and the error that goes with it."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "One head gambles if the length of key $a$ is random: at $\\beta = 30$ its output\n"
        "is nearly always close to $v_a$ or close to $v_b$, seldom to their average",
        rows=2,
        columns=2,
    )
    shares = findings.of("one-head-share-in-fifths")
    for ax, beta in zip(axes, style.series_of(shares, "beta"), strict=False):
        bins = shares.of("one-head-share-in-fifths", beta=beta)
        middles = [(f.setting["low"] + f.setting["high"]) / 2 for f in bins]
        widths = [f.setting["high"] - f.setting["low"] for f in bins]
        heights = [f.measured.centre / w for f, w in zip(bins, widths, strict=True)]
        radii = [f.measured.width / 2 / w for f, w in zip(bins, widths, strict=True)]
        ax.bar(middles, heights, widths, yerr=radii, color="#cccccc", edgecolor="white")
        density = [f.predicted.centre / w for f, w in zip(bins, widths, strict=True)]
        edges = [f.setting["low"] for f in bins] + [bins[-1].setting["high"]]
        ax.stairs(density, edges, baseline=None, color=style.COLOURS[1], linewidth=1.6, label="logit-normal law")
        ax.set(title=rf"$\beta = {beta:g}$", xlabel=r"share of $v_a$, $\alpha_a/(\alpha_a + \alpha_b)$")
        ax.set_ylabel("probability density")
    axes[0].legend(loc="upper left")
    for series, (name, label) in enumerate(
        (
            ("one-head-error", r"$\mathbb{E}\|c - \frac{1}{2}(v_a + v_b)\|^2$"),
            ("one-head-variance", r"$\mathrm{Var}(\alpha_a)$"),
        )
    ):
        style.draw_predicted(axes[3], findings.of(name), "beta", series=series, label=label)
        style.draw_measured(axes[3], findings.of(name), "beta", series=series)
    axes[3].set(xscale="log", xlabel=r"strength of the query, $\beta$", ylabel="mean squared error; variance")
    axes[3].set(title="The error grows towards 1/2", ylim=(0, 0.55))
    axes[3].legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="one_head_gamble",
    question="What does one head make of two keys when one key's length is uncertain?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
