"""How far does block-sparse attention see, and what does one layer of it miss?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sparse import bigbird, hearing
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """Layers until all are connected, pairs connected per layer, and the furthest-vector task in one layer."""
    from matplotlib import ticker

    from attnlab_theory.report import style

    figure, (layers, heard, task) = style.panels(
        "A global block connects all blocks in two layers, random links do so in a few;\n"
        "in one layer a row finds the vector furthest from its own only if the mask shows it that vector",
        columns=3,
        size=(13.2, 4.2),
    )
    curves = (
        (findings.of("window-layers", window=3), "window alone"),
        (findings.of("random-layers", random_blocks=2), "and 2 random links (line: lower bound)"),
        (findings.of("global-layers"), "and 1 global block"),
    )
    for series, (chosen, label) in enumerate(curves):
        if series == 1:
            low = [f.predicted.low for f in chosen]
            layers.plot(
                chosen.values("blocks"), low, color=style.COLOURS[1], linestyle=style.DASHES[1], label=label
            )
        else:
            style.draw_predicted(layers, chosen, "blocks", series=series, label=label)
        style.draw_measured(layers, chosen, "blocks", series=series)
    layers.set(xscale="log", yscale="log", xlabel="blocks", ylabel="layers until all are connected")
    layers.set_xticks(findings.of("window-layers", window=3).values("blocks"))
    layers.xaxis.set_major_formatter("{x:.0f}")
    layers.yaxis.set_major_formatter("{x:.0f}")
    layers.xaxis.set_minor_locator(ticker.NullLocator())
    layers.set_title("A window alone needs the most layers")
    layers.legend(loc="upper left")

    alone, linked = (
        Findings(f.times(f.setting["blocks"]) for f in findings.of(claim, blocks=64, random_blocks=links))
        for claim, links in (("window-heard", 0), ("random-heard", 1))
    )
    for series, (chosen, label) in enumerate(((alone, "window alone"), (linked, "and 1 random link"))):
        style.draw_predicted(heard, chosen, "layers", series=series, label=label)
        style.draw_measured(heard, chosen, "layers", series=series)
    rivals = [f.rival.predicted.low * f.setting["blocks"] for f in linked if f.rival is not None]
    heard.plot(
        linked.values("layers"),
        rivals,
        "x",
        color=style.REFUTED,
        label="refuted: as if no block were reached twice",
    )
    heard.set(xlabel="layers", ylabel="blocks that reach a block", ylim=(0, 40))
    heard.set_title("Random links bring in more blocks")
    heard.legend(loc="upper left")

    furthest = findings.of("furthest-by-one-sparse-layer")
    for series, number in enumerate(style.series_of(furthest, "global_blocks")):
        chosen = furthest.of("furthest-by-one-sparse-layer", global_blocks=number)
        label = f"{number} global blocks" if number else "no global block"
        style.draw_predicted(task, chosen, "random_blocks", series=series, label=label)
        style.draw_measured(task, chosen, "random_blocks", series=series)
    (dense,) = findings.of("furthest-by-one-dense-layer", blocks=16)
    task.axhline(dense.measured.centre, color="#777777", linewidth=1)
    task.annotate("dense attention", (0.0, 1.0), xytext=(2, -12), textcoords="offset points", fontsize=9)
    task.set(
        xlabel="random blocks that a row sees, of 16",
        ylabel="share of rows that find\ntheir furthest vector",
        ylim=(0, 1.05),
    )
    task.set_title("One layer often misses the furthest vector")
    task.legend(loc="lower right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="bigbird_reach",
    question="How far does block-sparse attention see, and what does one layer of it miss?",
    claims=(*bigbird.CLAIMS, *hearing.CLAIMS),
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
