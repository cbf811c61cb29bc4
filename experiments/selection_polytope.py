"""Which sets of keys can one query average, and which weights can it reach?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.selecting import reachable_weights
from attnlab_theory.claims.selecting import selection as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The keys with every pair that can and cannot be averaged; how close the others come; the mixture's cap."""
    from attnlab_theory.report import style

    figure, (left, right) = style.panels(
        "Of these eight keys one query can average exactly these sets: a corner of their convex hull, all keys on "
        "one of its edges, and all eight",
        columns=2,
        size=(15.0, 8.4),
    )
    # The keys as they are, without the settings that copy one of them.
    faces, others = (findings.of(name, copies=()) for name in ("faces-can-be-averaged", "other-sets-fall-short"))
    for kind, look in (
        (others, {"color": "#999999", "linestyle": (0, (4, 3)), "linewidth": 0.8}),
        (faces, {"color": style.COLOURS[0], "linestyle": "-", "linewidth": 2.4}),
    ):
        for finding in kind:
            places = finding.setting["places"]
            # Neither a triangle nor all the keys are a line.
            if len(places) == 2 or (finding in faces and len(places) == 3):
                left.plot([x for x, _ in places], [y for _, y in places], zorder=1, **look)
    for finding in (*faces, *others):
        members, places = finding.setting["members"], finding.setting["places"]
        if len(members) == 1:
            corner = finding.claim == "faces-can-be-averaged"
            (x, y), fill = places[0], style.COLOURS[0] if corner else "white"
            left.plot(x, y, "o", markersize=24, color=style.COLOURS[0], markerfacecolor=fill, zorder=2)
            left.annotate(
                str(members[0]),
                (x, y),
                ha="center",
                va="center",
                fontsize=14,
                color="white" if corner else "black",
                zorder=3,
            )
    left.set(xlabel="first coordinate of a key", ylabel="second coordinate of a key", aspect="equal")
    # Its height is that of the keys: it stands below the title, not in the middle.
    left.set_anchor("N")
    left.set_title(
        "solid: an edge; a query averages all keys on it\n"
        "dashed: two keys that no query averages\n"
        "filled: a corner; a query copies it",
        fontsize=13,
    )
    pairs = sorted((f for f in (*faces, *others) if len(f.setting["members"]) > 1), key=lambda f: f.measured.centre)
    for row, finding in enumerate(pairs):
        face = finding.claim == "faces-can-be-averaged"
        colour = style.COLOURS[0] if face else "#777777"
        right.plot(
            finding.measured.centre, row, "s" if face else "o", color=colour, markerfacecolor="white", ms=5.5
        )
        predicted = finding.predicted
        right.plot([predicted.low, predicted.high], [row, row], "|", color=style.COLOURS[1], ms=14, zorder=1)
    sets = [f.setting["members"] for f in pairs]
    names = ["all" if len(members) == len(claims.KEYS) else "–".join(map(str, members)) for members in sets]
    right.set_yticks(range(len(pairs)), names, fontsize=11.5)
    right.set(
        xlim=(0, 1.08),
        xlabel="set size × smallest weight (squares),\nset size × geometric mean of weights (circles)",
    )
    right.set(ylabel="set of keys")
    right.margins(y=0.02)
    for ax in (left, right):
        ax.tick_params(labelsize=11.5)
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_fontsize(13)
    right.set_title(
        "squares: sets that a query averages; 1 means equal weights\n"
        "circles: sets that no query averages, under the best query\n"
        "bars: predicted; two bars are the ends of an interval",
        fontsize=13,
    )
    return figure


EXPERIMENT = Experiment(
    name="selection_polytope",
    question="Which sets of keys can one query average, and which weights can it reach?",
    claims=(*claims.CLAIMS, *reachable_weights.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
