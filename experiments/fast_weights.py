"""What does a memory of one size still recall of its oldest key?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims import memory as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The error of the oldest key against the number of keys: a sum, the delta rule, the rule with a gate."""
    from attnlab_theory.report import style

    figure, (panel,) = style.panels(
        "A sum overflows, the delta rule answers noise for what it forgot,\nand a gate brings it nearer to silence",
        columns=1,
    )
    ways = (
        (Findings(f for f in findings.of("delta-rule-recall", beta=1.0) if is_oldest(f)), "the delta rule"),
        (
            findings.of("a-gate-turns-old-noise-into-silence", beta=1.0, decay=0.8),
            "the delta rule with a decay of {decay:g}",
        ),
    )
    # Keys of length one in all three. A sum of them errs (n - 1) / d, which the rule's own draws refute.
    sums = [(f.setting["n"], f.rival.predicted.low) for f in in_order(ways[0][0]) if f.rival is not None]
    panel.plot(
        *zip(*sums, strict=True), color="0.4", linestyle="dashed", label="a sum of outer products: $(n-1)/d$"
    )
    for series, (found, label) in enumerate(ways):
        label = label.format(**found[0].setting)
        style.draw_predicted(panel, in_order(found), "n", series=series, label=label)
        style.draw_measured(panel, in_order(found), "n", series=series)
    panel.axhline(1.0, color="0.4", linestyle="dotted", label="silence")
    panel.set_xscale("log", base=2)
    panel.set(
        xlabel=f"number of keys, of width {ways[0][0][0].setting['d']}",
        ylabel=r"error of the oldest key, $|Sk - v|^2$",
        ylim=(0, 2.4),
    )
    panel.set_xticks([4, 8, 16, 32], ["4", "8", "16", "32"])
    panel.legend(loc="lower right", fontsize=9)
    style.legend(figure)
    return figure


def is_oldest(finding) -> bool:
    """Whether the key was written first."""
    return finding.setting["age"] == finding.setting["n"] - 1


def in_order(findings: Findings) -> Findings:
    """The findings by the number of keys."""
    return Findings(sorted(findings, key=lambda finding: finding.setting["n"]))


EXPERIMENT = Experiment(
    name="fast_weights",
    question="What does a memory of one size still recall of its oldest key?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
