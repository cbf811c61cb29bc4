"""Do two heads do better than one on the same keys, and why?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import one_head
from attnlab_theory.claims.noisy_keys import two_heads as claims
from attnlab_theory.experiment import Experiment, main

AWAY = "stretched-key-points-away"
"""The claim about a negative score. Its prediction is the same at every strength."""

NEAR = "where-the-output-lands"
"""The claim about cells of the square."""

RARE = 0.001
"""Cells of the square with a smaller share of the problems stay empty."""


def draw_landing(ax, cells: Findings, title: str) -> None:
    """The square of the output's weights on v_a and v_b, in cells: the share of problems whose c lies in each."""
    from attnlab_theory.report import style

    for f in cells:
        share, low_a, low_b = f.predicted.centre, f.setting["low_a"], f.setting["low_b"]
        if share < RARE:
            continue
        span_a, span_b = [low_a, f.setting["high_a"]], [low_b, f.setting["high_b"]]
        ax.fill_between(span_a, *span_b, color=style.COLOURS[0], alpha=share**0.5, linewidth=0)
        ink, middle = "white" if share > 0.4 else "black", sum(span_a) / 2
        measured = f"{100 * f.measured.low:.1f}\N{EN DASH}{100 * f.measured.high:.1f}"
        for height, text, size in ((0.13, f"{100 * share:.1f} %", 11), (0.06, measured, 8.5)):
            ax.text(middle, low_b + height, text, ha="center", va="center", color=ink, fontsize=size)
    ax.plot([0.4, 0.6, 0.6, 0.4, 0.4], [0.4, 0.4, 0.6, 0.6, 0.4], color="black", linewidth=1.2)
    ax.annotate("near the\nwanted average", (0.6, 0.6), (0.66, 0.72), arrowprops={"arrowstyle": "-"}, fontsize=9)
    ax.text(
        0.02, 0.03, "where the output lies, % of problems\nlarge: predicted (rounded)\nsmall: measured", fontsize=9
    )
    ticks = [i / 5 for i in range(6)]
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks, aspect="equal", title=title)
    ax.set(xlabel=r"weight of the output on $v_a$", ylabel=r"weight of the output on $v_b$")


def draw_figure(findings: Findings):
    """Where c lies with one head and with two, the errors, and the chance of losing the key."""
    from attnlab_theory.report import style

    landing = [findings.of(NEAR, heads=heads) for heads in (1, 2)]
    one, two = (100 * of_heads.of(NEAR, low_a=0.4, low_b=0.4)[0].predicted.centre for of_heads in landing)
    figure, axes = style.panels(
        f"Two heads hedge: their output is near the wanted average in {two:.0f} % of problems,\n"
        f"that of one head in {one:.1f} %",
        2,
        2,
        size=(9.6, 8.8),
    )
    for ax, cells, who, keys in zip(axes, landing, ("one head", "two heads"), ("", ", same keys"), strict=False):
        draw_landing(ax, cells, rf"{who}, $\beta = {cells[0].setting['beta']:g}${keys}")
    for series, (name, label) in enumerate(
        (
            ("one-head-error", "one head"),
            ("two-heads-error", "two heads"),
            ("two-heads-error-when-heard", "two heads, where key $a$ has a score $\\geq 0$"),
        )
    ):
        style.draw_predicted(axes[2], findings.of(name), "beta", series=series, label=label)
        style.draw_measured(axes[2], findings.of(name), "beta", series=series)
    axes[2].set(xscale="log", yscale="log", xlabel=r"strength of the query, $\beta$")
    axes[2].set(
        ylabel="mean squared distance of the output\nfrom the wanted average",
        title="Two heads' error falls, one head's grows",
    )
    axes[2].legend(loc="lower left")
    for series, (name, label) in enumerate(
        (
            ("head-loses-its-key", r"head 1 gives $v_a$ less than half"),
            (AWAY, "its score for key $a$ is negative"),
        )
    ):
        style.draw_predicted(axes[3], findings.of(name), "beta", series=series, label=label)
        style.draw_measured(axes[3], findings.of(name), "beta", series=series)
    axes[3].set(xscale="log", xlabel=r"strength of the query, $\beta$", ylabel="probability", ylim=(0, 0.5))
    away = 100 * findings.of(AWAY)[-1].predicted.centre
    axes[3].set(title=f"In {away:.0f} % of problems head 1 does not find key $a$")
    axes[3].legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="two_heads_hedge",
    question="Do two heads do better than one on the same keys, and why?",
    claims=(one_head.ERROR, *claims.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
