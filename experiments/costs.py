"""What does attention cost beside the rest of a layer, and when is a linear substitute cheaper?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.cost import layers, linear
from attnlab_theory.claims.cost import mixers as whole_mixers
from attnlab_theory.claims.cost.layers import Part, Rival
from attnlab_theory.claims.cost.linear import Counted, MixingKind
from attnlab_theory.experiment import Experiment, main

PARTS = ((Part.PROJECTIONS, "projections"), (Part.MIXING, "mixing"), (Part.MLP, "MLP"))
MIXERS = (
    (MixingKind.EXACT, "exact attention"),
    (MixingKind.FEATURES, "random features"),
    (MixingKind.CAUSAL_FEATURES, "random features, causal"),
    (MixingKind.LINFORMER, "Linformer"),
    (MixingKind.BIGBIRD, "BigBird"),
)


def draw_lines(ax, findings: Findings, field: str, labels: tuple[tuple[str, str], ...]) -> None:
    """One line and its marks for every value of a field, against the length."""
    from attnlab_theory.report import style

    for series, (value, label) in enumerate(labels):
        chosen = findings.of(findings[0].claim, **{field: value})
        style.draw_predicted(ax, chosen, "t", series=series, label=label)
        style.draw_measured(ax, chosen, "t", series=series)
    ax.set_xscale("log", base=2)
    ax.set(yscale="log", xlabel="length $T$ (tokens)")


def mark_crossing(ax, crossing: Findings, label: str, *, height: float = 0.02) -> None:
    """A vertical line at a measured length, its name at a height between 0 and 1."""
    (finding,) = crossing
    at = finding.measured.centre
    ax.axvline(at, color="#777777", linewidth=0.9, linestyle=":")
    ax.annotate(label, (at, height), xycoords=("data", "axes fraction"), rotation=90, ha="right", fontsize=9)


def draw_figure(findings: Findings):
    """Operations of a layer's parts, where they cross, and exact attention against its substitutes."""
    from attnlab_theory.report import style

    figure, (parts, widths, mixers, traffic) = style.panels(
        "Mixing (scores and weighted sums) costs more than the MLP from $T = 4d$ on, not from $T = d$.\n"
        "From about $T = 2m$ on, $m$ random features are cheaper than exact attention",
        2,
        2,
    )
    draw_lines(parts, findings.of("layer-products"), "part", PARTS)
    overtakes = findings.of("mixing-overtakes", cached=False)
    for rival, label in ((Rival.PROJECTIONS, "$T = 2d$"), (Rival.MLP, "$T = 4d$"), (Rival.ALL_ELSE, "$T = 6d$")):
        mark_crossing(parts, overtakes.of("mixing-overtakes", d=64, rival=rival), label)
    parts.set(ylabel="operations in matrix products", title="What the parts of a layer cost, width $d$ = 64")
    parts.legend()
    for series, (rival, label) in enumerate(
        ((Rival.ALL_ELSE, "projections and MLP"), (Rival.MLP, "MLP"), (Rival.PROJECTIONS, "projections"))
    ):
        chosen = overtakes.of("mixing-overtakes", rival=rival)
        style.draw_predicted(widths, chosen, "d", series=series, label=label)
        style.draw_measured(widths, chosen, "d", series=series)
    submitted = findings.of("mixing-dominates-from-the-width-on", rival=Rival.MLP, cached=False)
    style.draw_refuted(widths, submitted, "d", label="the MLP from $T = d$ on (homework)")
    widths.set_xscale("log", base=2)
    widths.set_yscale("log", base=2)
    widths.set(
        ylim=(2**3.5, 2**13.5),
        xlabel="width $d$",
        ylabel="length $T$ (tokens)",
        title="Length at which mixing costs more than …",
    )
    widths.legend(loc="upper left")
    draw_lines(mixers, findings.of("mixer-products"), "kind", MIXERS)
    crossing = findings.of("exact-attention-becomes-dearer", kind=MixingKind.FEATURES, d=64, size=256)
    mark_crossing(
        mixers,
        crossing.of("exact-attention-becomes-dearer", field=Counted.MATRIX_PRODUCTS),
        "$T = 2m + m/d$",
        height=0.6,
    )
    mixers.set(
        ylabel="operations in matrix products",
        title="Mixing: exact attention and four substitutes,\n$d$ = 64, $m$ = 256",
    )
    mixers.legend(loc="lower right", fontsize=8)
    draw_lines(traffic, findings.of("mixer-traffic"), "kind", MIXERS[:2])
    mark_crossing(
        traffic,
        crossing.of("exact-attention-becomes-dearer", field=Counted.BYTES),
        "about $T = 2m + d$",
        height=0.55,
    )
    traffic.set(
        ylabel="bytes moved by matrix products",
        title="Beyond $T = 2m + d$ exact attention moves\nmore bytes, $d$ = 64, $m$ = 256",
    )
    traffic.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="costs",
    question="What does attention cost beside the rest of a layer, and when is a linear substitute cheaper?",
    claims=(*layers.CLAIMS, *linear.CLAIMS, *whole_mixers.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
