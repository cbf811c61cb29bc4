"""Can the moments of noisy weights be computed, and scores be drawn instead of keys?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import drawn_scores, moments
from attnlab_theory.experiment import Experiment, main

LABELS = {
    (1, 0): r"$\mathbb{E}[\alpha_a]$",
    (2, 0): r"$\mathbb{E}[\alpha_a^2]$",
    (1, 1): r"$\mathbb{E}[\alpha_a \alpha_b]$",
}


def draw_figure(findings: Findings):
    """Moments against strength; predicted against measured under any covariances; keys against scores."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "One integral gives the moments of attention weights on noisy keys, whatever their covariances", columns=3
    )
    for series, (powers, label) in enumerate(LABELS.items()):
        of_power = {"power_a": powers[0], "power_b": powers[1]}
        curve = findings.of("moments-with-a-stretched-key", **of_power)
        style.draw_predicted(axes[0], curve, "beta", series=series, label=label)
        style.draw_measured(axes[0], curve, "beta", series=series)
        cloud = findings.of("moments-under-any-covariances", **of_power)
        axes[1].errorbar(
            [f.predicted.centre for f in cloud],
            [f.measured.centre for f in cloud],
            yerr=[f.measured.width / 2 for f in cloud],
            fmt=style.MARKERS[series],
            color=style.COLOURS[series],
            markerfacecolor="white",
            label=label,
        )
    wrong = findings.of("noise-of-mean-zero-averages-out")
    where = [f.predicted.centre for f in wrong], [f.measured.centre for f in wrong]
    axes[1].plot(*where, "x", color=style.REFUTED, label="refuted: as if there were no noise")
    axes[1].axline((0, 0), slope=1, color="#888888", linewidth=1)
    for series, (name, label) in enumerate(
        {
            "scores-stand-for-keys": "scores sampled for both heads together",
            "heads-scores-may-be-drawn-apart": "refuted: sampled for each head alone",
        }.items()
    ):
        style.draw_measured(axes[2], findings.of(name, beta=10.0), "threshold", series=series, label=label)
    axes[2].axhline(0, color="#888888", linewidth=1)
    axes[0].set(
        title="Key $a$ of 16 keys has a random length",
        xscale="log",
        xlabel=r"strength of the query, $\beta$",
        ylabel="moment of the weights",
    )
    axes[1].set(title="Six keys have six covariances", xlabel="predicted moment", ylabel="measured moment")
    axes[2].set(
        title="Scores of two heads must be sampled together",
        xlabel=r"threshold $x$ for both heads' weight of key a",
    )
    axes[2].set_ylabel("$P$(both weights $\\leq x$): with sampled\nkeys, minus with sampled scores")
    axes[2].set_ylim(-0.04, 0.19)
    for ax in axes:
        ax.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="exact_moments",
    question="Can the moments of noisy weights be computed, and scores be drawn instead of keys?",
    claims=(*moments.CLAIMS, *drawn_scores.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
