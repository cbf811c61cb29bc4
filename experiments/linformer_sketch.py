"""What does a sketch of attention err by?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.sparse import linformer as claims
from attnlab_theory.experiment import Experiment, main


def draw_figure(findings: Findings):
    """The error of products and of the whole matrix against rows of the sketch, beside what any low rank can do."""
    from matplotlib import ticker

    from attnlab_theory.report import style

    figure, (product, matrix, tail) = style.panels(
        "A random sketch (Linformer) errs more where attention is sharp. With $r \\leq n$ rows "
        "its error of the whole matrix exceeds the norm of the matrix",
        columns=3,
        size=(13.2, 4.2),
    )
    sketched = findings.of("sketched-product")
    for series, beta in enumerate(style.series_of(sketched, "beta")):
        chosen = sketched.of("sketched-product", beta=beta)
        style.draw_predicted(product, chosen, "r", series=series, label=rf"strength $\beta = {beta:g}$")
        style.draw_measured(product, chosen, "r", series=series)
    product.set(xscale="log", yscale="log", xlabel="rows of the sketch, $r$")
    product.set(ylabel=r"$\mathbb{E}\|P R^T R w - P w\|^2$, where $\|P w\| = 1$")
    product.set_xticks([4, 16, 64], ["4", "16", "64"])
    product.set_title(f"The error of a product falls as $1/r$, $n = {sketched[0].setting['n']}$ positions")
    product.legend(loc="upper right")

    same = {"n": 8, "beta": 4.0}
    for series, (claim, label) in enumerate(
        (("sketched-matrix", r"sketch, $(n+1)/r$"), ("best-rank", "best matrix of rank $r$"))
    ):
        style.draw_predicted(matrix, findings.of(claim, **same), "r", series=series, label=label)
        style.draw_measured(matrix, findings.of(claim, **same), "r", series=series)
    matrix.axhline(1.0, color="#777777", linewidth=1)
    zeros = {"xytext": (0, 3), "textcoords": "offset points", "ha": "right", "fontsize": 8}
    matrix.annotate("error of a matrix of zeros", (64, 1.0), **zeros)
    matrix.set(xscale="log", yscale="log", xlabel="rows of the sketch, or rank, $r$")
    matrix.set(ylabel=r"$\|P' - P\|_F^2 \; / \; \|P\|_F^2$")
    matrix.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    for ax in (product, matrix):
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    matrix.set_title(rf"A sketch misses the matrix, $n = {same['n']}$, $\beta = {same['beta']:g}$")
    matrix.legend(loc="upper right")

    spectra = findings.of("spectrum-tail")
    for series, peak in enumerate(style.series_of(spectra, "peak")):
        chosen = spectra.of("spectrum-tail", peak=peak)
        # Singular values below rounding are no numbers.
        shown = Findings(f for f in chosen if f.measured.low > 0)
        style.draw_predicted(tail, chosen, "rank", series=series, label=rf"bound for scores $|z| \leq {peak:g}$")
        style.draw_measured(tail, shown, "rank", series=series)
    tail.set(xlabel=f"rank $r$ (keys of width {spectra[0].setting['d']})")
    tail.set(yscale="log", ylabel=r"least $\|P - Q\|_F$ over rank $r$", ylim=(5e-7, 3e3))
    tail.set_title("The least error at rank $r$ falls fast")
    tail.legend(loc="upper right")
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="linformer_sketch",
    question="What does a sketch of attention err by?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
