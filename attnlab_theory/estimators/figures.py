"""The phase diagram of estimators, and where somebody's queries and keys fall on it. Imports matplotlib."""

import math
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

from attnlab_theory.estimators.advice import Advice
from attnlab_theory.estimators.errors import COUPLINGS
from attnlab_theory.report import style
from attnlab_theory.theory.features import phase as theory
from attnlab_theory.theory.features.estimator import Estimator

SHADES = {Estimator.TRIGONOMETRIC: "#cfe3f1", Estimator.HYPERBOLIC: "#f5cdb0", Estimator.DENSE: "#c9e8dd"}
HATCHES = {Estimator.TRIGONOMETRIC: "", Estimator.HYPERBOLIC: "//", Estimator.DENSE: ".."}
"""Marks for the estimators that win somewhere: positive features and generalized exponential ones never do."""

NARROWEST, WIDEST = 1e-2, 600.0
"""The ends of the axes. All estimators are good below the first, and their variances overflow beyond the last."""


def draw_regions(ax: Axes, sums: Float[np.ndarray, " n"], differences: Float[np.ndarray, " m"], *, d: int) -> None:
    """Where the formulas say that each estimator wins at equal numbers of features, as shades and hatches.

    Args:
        ax: with logarithmic axes, L = |x + y|^2 along x and D = |x - y|^2 along y.
        sums: values of L, the columns of the grid.
        differences: values of D, its rows.
        d: width of the vectors.

    Example:
        Four points of the plane of L and D, as one mesh.

        >>> axes = Figure().subplots()
        >>> draw_regions(axes, np.array([0.1, 10.0]), np.array([0.1, 10.0]), d=2)
        >>> axes.get_xscale(), [float(end) for end in axes.get_xlim()]
        ('log', [0.1, 10.0])
    """
    names = list(SHADES)
    # Only the error of trigonometric features depends on D, so one border says where they win.
    borders = np.array([theory.trigonometric_border(float(total), d=d) for total in sums])
    others = np.array([names.index(theory.winner(float(total), math.inf, d=d)) for total in sums])
    below = differences[:, None] < borders
    best = np.where(below, names.index(Estimator.TRIGONOMETRIC), others)
    colours = ListedColormap([SHADES[names[i]] for i in range(len(names))])
    ax.pcolormesh(sums, differences, best, cmap=colours, vmin=0, vmax=2, shading="nearest", rasterized=True)
    for i, name in enumerate(names):
        here = (best == i).astype(float)
        if HATCHES[name]:
            ax.contourf(sums, differences, here, levels=[0.5, 1.5], colors="none", hatches=[HATCHES[name]])
    _draw_borders(ax, sums, differences, d=d)
    ax.set(xscale="log", yscale="log", xlabel=r"$L = \|x+y\|^2$", ylabel=r"$D = \|x-y\|^2$")


def _draw_borders(ax: Axes, sums: Float[np.ndarray, " n"], differences: Float[np.ndarray, " m"], *, d: int) -> None:
    """The borders themselves, whatever the grid: where two estimators have the same variance.

    Dashed: the borders if dense exponential features are left out and generalized ones take their place.
    """
    for other, dashes in ((Estimator.DENSE, "-"), (Estimator.GENERALIZED, "--")):
        line = {"color": "#333333", "linewidth": 1.2, "linestyle": dashes}
        ax.plot(sums, [theory.trigonometric_border(float(x), other, d=d) for x in sums], **line)
        corner = theory.hyperbolic_border(other, d=d)
        if sums[0] < corner < sums[-1]:
            foot = max(theory.trigonometric_border(corner, other, d=d), float(differences[0]))
            ax.plot([corner, corner], [foot, differences[-1]], **line)
    ax.set(xlim=(sums[0], sums[-1]), ylim=(differences[0], differences[-1]))


def write_map(advice: Advice, path: Path) -> None:
    """Draw the pairs of a problem on the phase diagram, and predicted against measured errors.

    Args:
        advice: from `advise`.
        path: where the picture goes.

    Raises:
        ValueError: if `style.refuse_path` refuses the path.

    Example:
        A picture of two panels, written as a PNG.

        >>> import tempfile
        >>> from attnlab_theory.estimators import advise, pose
        >>> advice = advise(pose(np.eye(3, 2), np.eye(3, 2), scale=1.0), features=6, draws=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_map(advice, Path(folder) / "map.png")
        ...     print((Path(folder) / "map.png").read_bytes()[1:4])
        b'PNG'
    """
    style.write(lambda: _map(advice), path)


def _map(advice: Advice) -> Figure:
    figure, (plane, errors) = style.panels(
        f"Least error on these queries and keys: {advice.chosen.estimator} features",
        columns=2,
        size=(11.0, 4.8),
    )
    _draw_pairs(plane, advice)
    _draw_errors(errors, advice)
    return figure


def _draw_pairs(ax: Axes, advice: Advice) -> None:
    problem = advice.problem
    squares = [np.clip(x, NARROWEST, WIDEST) for x in (problem.sum_squares, problem.difference_squares)]
    ends = [(0.8 * float(x.min()), 1.25 * float(x.max())) for x in squares]
    draw_regions(ax, *(np.geomspace(*pair, 120) for pair in ends), d=problem.q.shape[1])
    shares = problem.shares.ravel() / problem.shares.max()
    ax.scatter(*(x.ravel() for x in squares), s=1 + 40 * shares, color="black", alpha=0.35, linewidths=0)
    ax.set(title="a dot per pair, as large as its share of its row's attention")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    best = [Patch(facecolor=SHADES[name], hatch=2 * HATCHES[name], edgecolor="#555555") for name in SHADES]
    title = "predicted best for a single pair, dashed: without dense"
    ax.legend(best, SHADES, title=title, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    ax.grid(False)


def _draw_errors(ax: Axes, advice: Advice) -> None:
    places = np.arange(len(advice.lines))
    predicted = [line.weights for line in advice.lines]
    ax.plot(places, predicted, "_", color="black", ms=26, mew=2, label="predicted, independent projections")
    for series, coupling in enumerate(COUPLINGS):
        measured = [line.measured[coupling].weights for line in advice.lines]
        ax.plot(
            places + 0.14 * (series - 1),
            measured,
            style.MARKERS[series],
            color=style.COLOURS[series],
            label=f"measured, {coupling}",
        )
    ax.set_xticks(places, [line.estimator.replace(" ", "\n") for line in advice.lines])
    ax.set(yscale="log", ylabel="relative error of a row of weights", title=f"{advice.features} features")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
