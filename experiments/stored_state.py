"""What becomes of a state that is stored in few digits?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.precision import CLAIMS
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """What is left of a state after its steps: in exact arithmetic, and stored in bfloat16."""
    from attnlab_theory.report import style

    figure, (ax,) = style.panels(
        "A recurrent state that is stored in bfloat16 does not forget slowly:\nit forgets too fast, or not at all"
    )
    said = findings.of("storing-in-bf16-is-harmless-if-computed-in-float32")
    style.draw_refuted(ax, said, "halvings", label=r"near $\gamma^t$, as in exact arithmetic")
    style.draw_measured(ax, said, "halvings", series=1, label="left of the stored state")
    style.draw_predicted(
        ax, findings.of("a-bf16-state-never-forgets"), "halvings", series=1, label="predicted: all of it"
    )
    ax.set(
        yscale="log",
        ylim=(2e-3, 2),
        xlabel=r"halvings $h$ of the decay $\gamma = 1 - 2^{-h}$",
        ylabel=f"left of a state after {said[0].setting['steps']:,} steps",
    )
    ax.legend(loc="lower right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="stored_state",
    question="What becomes of a state that is stored in few digits?",
    claims=CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
