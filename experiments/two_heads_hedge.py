"""Do two heads do better than one on the same keys, and why?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.noisy_keys import one_head
from attnlab_theory.claims.noisy_keys import two_heads as claims
from attnlab_theory.experiment import Experiment, main


def draw_landing(ax, cells: Findings, title: str) -> None:
    """A scatter of c in cells: the area of a disc is the measured share of problems that land there."""
    from attnlab_theory.report import style

    for f in cells:
        x, y = (f.setting["low_a"] + f.setting["high_a"]) / 2, (f.setting["low_b"] + f.setting["high_b"]) / 2
        if f.measured.low > 0.001:
            ax.scatter(x, y, s=1100 * f.measured.centre, color=style.COLOURS[0], alpha=0.7, linewidths=0)
            ax.annotate(f"{f.measured.centre:.0%}", (x, y + 0.085), ha="center", va="center", fontsize=9)
    ax.set(xlim=(0, 1), ylim=(0, 1), title=title, xlabel=r"weight on $v_a$", ylabel=r"weight on $v_b$")
    ax.set(xticks=[i / 5 for i in range(6)], yticks=[i / 5 for i in range(6)], aspect="equal")


def draw_figure(findings: Findings):
    """Where c lands with one head and with two, the errors, and the chance of losing the key."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        r"Two heads hedge: head 2 brings its half; at $\beta = 30$ head 1 loses its key in one problem of ten",
        rows=2,
        columns=2,
    )
    landing = findings.of("where-the-output-lands")
    draw_landing(
        axes[0], landing.of("where-the-output-lands", heads=1.0), r"one head, $\beta = 30$: where $c$ lands"
    )
    draw_landing(axes[1], landing.of("where-the-output-lands", heads=2.0), r"two heads, $\beta = 30$, same keys")
    for series, (name, label) in enumerate(
        (
            ("one-head-error", "one head"),
            ("two-heads-error", "two heads"),
            ("two-heads-error-when-heard", r"two heads, given $k_a \cdot q_1 \geq 0$"),
        )
    ):
        style.draw_predicted(axes[2], findings.of(name), "beta", series=series, label=label)
        style.draw_measured(axes[2], findings.of(name), "beta", series=series)
    axes[2].set(xscale="log", yscale="log", xlabel=r"strength of the query, $\beta$")
    axes[2].set_ylabel(r"$\mathbb{E}\|c - \frac{1}{2}(v_a + v_b)\|^2$")
    axes[2].legend(loc="lower left", title="line predicted, interval measured", title_fontsize=9)
    away = findings.of("stretched-key-points-away")
    for series, (chosen, label) in enumerate(
        (
            (findings.of("head-loses-its-key"), r"$v_a$ gets less than half of head 1"),
            (away, r"$k_a \cdot q_1 < 0$"),
        )
    ):
        style.draw_predicted(axes[3], chosen, "beta", series=series, label=label)
        style.draw_measured(axes[3], chosen, "beta", series=series)
    axes[3].set(xscale="log", xlabel=r"strength of the query, $\beta$", ylabel="probability", ylim=(0, 0.5))
    axes[3].legend()
    return figure


EXPERIMENT = Experiment(
    name="two_heads_hedge",
    question="Do two heads do better than one on the same keys, and why?",
    claims=(one_head.ERROR, *claims.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
