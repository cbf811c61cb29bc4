"""What may be subtracted from log features, and what does an eps do?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.features import stabilisers as claims
from attnlab_theory.experiment import Experiment, main

CHANGES = ("maxima-that-cancel", "a-maximum-of-each-key-cancels", "an-eps-is-harmless")
CAUSAL = (
    "a-maximum-over-the-past-is-causal",
    "a-maximum-over-all-positions-cancels-without-an-eps",
    "a-maximum-over-all-positions-is-causal",
)


def draw_figure(findings: Findings):
    """Largest change of a weight by each stabiliser; how far a causal mixer's outputs move with the future."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Random-feature attention: subtracting one maximum for each query, or one for all keys, from exponents\n"
        "changes no weight; subtracting each key's own maximum does, and so does adding eps to the features",
        columns=2,
        size=(13.0, 5.4),
    )
    labels = []
    subtracted = {
        "largest of each query": "the query's maximum",
        "largest of all keys": "the maximum of all keys",
        "largest of each query and of all keys": "both the query's maximum\nand that of all keys",
        "largest of each key": "each key's own maximum",
    }
    for name in CHANGES:
        for f in findings.of(name):
            setting = f.setting
            eps = f";\neps = {setting['eps']:g} is added" if setting["eps"] else ""
            label = subtracted[setting["subtracted"]] + eps
            if label not in labels:
                labels.append(label)
            series = int(setting["norm"] > 1)
            cancels = f.measured.overlaps(f.predicted)
            axes[0].errorbar(
                [f.measured.high if cancels else f.measured.centre],
                [labels.index(label) + 0.3 * series - 0.15],
                xerr=[f.measured.high / 2] if cancels else None,
                xuplims=cancels,
                fmt=style.MARKERS[series],
                color=style.COLOURS[series],
                markerfacecolor="white",
                label=rf"$\|q\| = \|k\| = {setting['norm']:g}$" if name == CHANGES[1] else None,
            )
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set(
        xscale="log",
        xlabel="largest change of a weight (arrow: no more than rounding)",
        ylim=(len(labels) - 0.5, -0.5),
    )
    axes[0].set(xlim=(1e-5, 1), title="Change of weights, by what is subtracted")
    axes[0].legend(loc="upper right")
    cases = []
    for f in (f for name in CAUSAL for f in findings.of(name)):
        over = {"positions so far": "keys so far", "all positions": "all keys"}[f.setting["maximum"]]
        cases.append((f"{over},\n{f.setting['t']} tokens,\neps = {f.setting['eps']:g}", f))
    for i, (_, f) in enumerate(cases):
        still = f.measured.overlaps(f.predicted)
        axes[1].errorbar(
            [i],
            [f.measured.high if still else f.measured.centre],
            yerr=[f.measured.high / 2] if still else None,
            uplims=still,
            fmt=style.MARKERS[2],
            color=style.COLOURS[2],
            markerfacecolor="white",
        )
    axes[1].set_xticks(range(len(cases)), [label for label, _ in cases], fontsize=8.5)
    axes[1].set(
        yscale="log", xlim=(-0.5, len(cases) - 0.5), title="With an eps, a maximum over all keys leaks the future"
    )
    axes[1].set_xlabel("the maximum is taken over (arrow: no more than rounding)")
    axes[1].set_ylabel("largest change of an earlier output\nwhen later tokens change")
    return figure


EXPERIMENT = Experiment(
    name="stabilisers",
    question="What may be subtracted from log features, and what does an eps do?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
