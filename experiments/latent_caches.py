"""What do shared and latent keys save, and what do they lose?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims import shared_keys as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Three comparisons of one cache, which are all quoted as what latent attention saves."""
    from attnlab_theory.report import style

    figure, (panel,) = style.panels(
        "One cache, three comparisons:\nthe number that is quoted needs fewer bits as well as latent attention",
        columns=1,
    )
    saved = findings.of("what-latent-attention-saves")
    labels = [named(finding.setting) for finding in saved]
    measured = [(finding.measured.low + finding.measured.high) / 2 for finding in saved]
    panel.barh(range(len(saved)), measured, color="C0", height=0.6)
    for row, share in enumerate(measured):
        panel.annotate(f"{share:.1%} ", (share, row), ha="right", va="center", color="white")
    panel.set_yticks(range(len(saved)), labels)
    panel.invert_yaxis()
    panel.set(xlabel="share of the cache that is saved", xlim=(0, 1))
    panel.grid(visible=False, axis="y")
    return figure


def named(setting) -> str:
    """With what a cache is compared."""
    theirs = f"{setting['by_layers']} layers of {setting['by_groups']} key heads"
    return f"against {theirs},\n{setting['bits']} bits against {setting['by_bits']}"


EXPERIMENT = Experiment(
    name="latent_caches",
    question="What do shared and latent keys save, and what do they lose?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
