"""Which keys, queries and values send every input where it is wanted?"""

from fractions import Fraction

from attnlab_theory.claims import Findings
from attnlab_theory.claims.routing import routing, shared_routing
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Errors against tolerance, a routed cycle, the price of correlated inputs, and what shared heads cannot do."""
    from attnlab_theory.report import style

    figure, (errors, cells, price, cycles) = style.panels(
        "Some $Q$ and $K$ let each of $n$ linearly independent inputs look at any one input, to any tolerance;\n"
        "with $Q = K$ they cannot look at each other in a cycle",
        rows=2,
        columns=2,
        size=(10.4, 8.0),
    )
    for series, n in enumerate(style.series_of(findings.of("route-certifies"), "n")):
        certified, measured = findings.of("route-certifies", n=n), findings.of("route-errs-less", n=n)
        if series == 0:
            style.draw_predicted(errors, certified, "tolerance", label="tolerance", series=4)
        style.draw_measured(errors, certified, "tolerance", label=f"certified bound, {n} inputs", series=2 * series)
        style.draw_measured(errors, measured, "tolerance", label=f"error, {n} inputs", series=2 * series + 1)
    errors.set(xscale="log", yscale="log", xlabel="tolerance asked for", ylabel="largest error of a routed output")
    errors.set_title("No error exceeds the tolerance")
    errors.legend()

    routed = findings.of("routed-weights", n=5)
    style.draw_cells(cells, routed, row="row", column="column", digits=3)
    cells.set(xlabel="looks at input", ylabel="input")
    cells.set_title(f"Weights: each input looks at the next,\ntolerance {routed[0].setting['tolerance']:g}")

    least = findings.of("route-least-norm", n=3)
    style.draw_predicted(price, least, "correlation", label="least norm, by an exact search")
    style.draw_measured(price, least, "correlation", label="found by the solver")
    price.set(xlabel="inner product of any two unit inputs", yscale="log")
    price.set_ylabel(r"least $\|K^TQ\|_F$ that lets wanted scores" "\nexceed all others by 1")
    price.set_title("Inputs that are more alike need larger matrices")
    price.legend()

    either = [f for name in ("free-heads-route-cycles", "shared-heads-route-no-cycle") for f in findings.of(name)]
    for series, (length, label) in enumerate(((3.0, r"$1\to2\to3\to1$"), (2.0, r"$1\to2\to1$"))):
        chosen = Findings(f for f in either if f.setting["length"] == length)
        style.draw_measured(cycles, chosen, "kind", label=label, series=series)
        cycles.plot(chosen.values("kind"), [f.predicted.low for f in chosen], "k_", markersize=40)
    shares = sorted({Fraction(f.predicted.low).limit_denominator(100) for f in either})
    cycles.plot([], [], "k_", markersize=12, label=f"predicted: {', '.join(map(str, shares))}")
    cycles.set_xticks([0, 1], ["$Q$ and $K$ apart", "$Q = K$"])
    cycles.set(xlim=(-0.6, 1.6), ylim=(-0.01, 0.16), xlabel="random head on three orthonormal inputs")
    cycles.set_ylabel("share that routes the cycle")
    cycles.set_title("With $Q = K$ no head routes a cycle")
    cycles.legend(loc="upper right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="routing",
    question="Which keys, queries and values send every input where it is wanted?",
    claims=(*routing.CLAIMS, *shared_routing.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
