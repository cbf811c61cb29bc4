"""When can one summand be read off a sum of two?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import subspaces as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Extraction error and gain against the smallest principal angle, squared error against noise."""
    from attnlab_theory.report import style

    figure, (error, gain, noise) = style.panels(
        "For any two subspaces that meet only at 0, some matrix keeps the one and removes the other,\n"
        "but it amplifies noise by up to 1/sin θ",
        columns=3,
        size=(12.6, 4.0),
    )
    wrong, right = findings.of("projector-error"), findings.of("oblique-extraction")
    style.draw_predicted(error, wrong, "angle", label=r"orthogonal projector $AA^T$: $\|A^T v_b\|$")
    style.draw_measured(error, wrong, "angle")
    style.draw_predicted(error, right, "angle", series=1, label=r"oblique projector $A([A\,B]^+)_{1..m}$: 0")
    style.draw_measured(error, right, "angle", series=1)
    error.set(xlabel=r"smallest principal angle $\theta$ (radians)", ylabel=r"error $\|M(v_a + v_b) - v_a\|$")
    error.set_title("Without noise the oblique projector is exact")
    error.set_ylim(top=1.0)
    error.legend(loc="upper right")

    gains = findings.of("extraction-gain")
    style.draw_predicted(gain, gains, "angle", series=1, label=r"$1/\sin\theta$")
    style.draw_measured(gain, gains, "angle", series=1)
    gain.set(xscale="log", yscale="log", xlabel=r"smallest principal angle $\theta$ (radians)")
    gain.set(ylabel=r"largest amplification of noise $\|M\|_2$")
    gain.set_title("The oblique projector amplifies noise")
    gain.legend()

    for series, (claim, label) in enumerate(
        (("projector-noise", "orthogonal projector"), ("extraction-noise", "oblique projector"))
    ):
        style.draw_predicted(noise, findings.of(claim), "noise", series=series, label=label)
        style.draw_measured(noise, findings.of(claim), "noise", series=series)
    angle = findings.of("extraction-noise")[0].setting["angle"]
    noise.set(
        xscale="log",
        yscale="log",
        xlabel=rf"std of the noise in each coordinate ($\theta = {angle:g}$)",
        ylabel="mean squared error",
    )
    noise.set_title("Much noise favours the orthogonal one")
    noise.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="subspace_extraction",
    question="When can one summand be read off a sum of two?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
