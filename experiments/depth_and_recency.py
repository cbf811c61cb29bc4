"""Does a deep decoder still hear its last token best?"""

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.claims import recency as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The influence of the last and of the middle token on the last one, against the number of layers."""
    from attnlab_theory.report import style

    last = findings.of("the-recency-anchor-fades-with-depth")
    middle = findings.of("skips-keep-the-middle-alive")
    figure, (panel,) = style.panels(
        "The last token fades faster than the middle one:\ndeep decoders have no recency by their mask alone",
        columns=1,
    )
    for series, (found, label) in enumerate(((last, "the last token"), (middle, "the middle token"))):
        style.draw_predicted(panel, found, "layers", series=series, label=label)
        style.draw_measured(panel, found, "layers", series=series)
    said = [rival_of(finding) for finding in middle]
    dead = "a factorial dead zone (refuted)"
    panel.plot(middle.values("layers"), said, color="0.4", linestyle="dotted", label=dead)
    setting = last[0].setting
    panel.set(
        yscale="log",
        xlabel=f"layers, each with a skip of {setting['skip']:g}",
        ylabel=f"influence on the last of {setting['n']} tokens",
        ylim=(1e-12, 1),
    )
    panel.legend(loc="lower right", fontsize=9)
    style.legend(figure)
    return figure


def rival_of(finding: Finding) -> float:
    """What the rival of a finding's claim predicts."""
    assert finding.rival is not None
    return finding.rival.predicted.low


EXPERIMENT = Experiment(
    name="depth_and_recency",
    question="Does a deep decoder still hear its last token best?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
