r"""Positive features of a row and of its negative: two laws that other rows hide.

The law of a projection w is that of -w. So phi(x) . phi(x) and phi(-x) . phi(-x) have one mean, by any map. A
projection whose coordinate i has a fixed sign in row i breaks that, as the Q of a QR decomposition does, and most
along the axes. Let t = 2 |x| for a row that has been scaled, and K the kernel. For exp(w.x - |x|^2 / 2) and F
independent w, the difference over K has the variance

    (2 (exp(t^2) - 1) + 2 (1 - exp(-t^2))) / F

for each axis. Axes are independent, and their mean has a part of that.

exp(w.x) exp(-w.x) is one, whatever w. So phi(x) . phi(-x) is the kernel itself in every draw, and may be small: a
floor below each feature shows.
"""

from typing import TYPE_CHECKING

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, Trouble, Verdict
from attnlab_theory.conform.laws.dice import ALPHA, agrees, uneven
from attnlab_theory.conform.laws.kernels import KERNELS, scaled
from attnlab_theory.conform.laws.mapping import WIDTH
from attnlab_theory.conform.suite import NOTHING, Said, failed
from attnlab_theory.stats import known_variance, normal

if TYPE_CHECKING:
    from attnlab_theory.conform.asking import Answer
    from attnlab_theory.conform.laws.mapping import FeatureDraw

DRAWS = 2000

FIRST = 20_000
"""The first seed: other draws than those of the kernel."""

T = 1.0
"""2 |x| of a row on an axis. A longer one has a variance that grows faster than what a sign does."""

LONG = 3.0
"""|x| of the row whose negative is far: the kernel of the two is 1.2e-4, or 1.5e-8."""

FEW = 40
"""Draws, all of which must lie above the kernel before a floor is told: by chance 2^-40 at most."""

ROUNDING = 1e-3
"""Relative, in float32: an exponent below 30 loses 30 times half an ulp, and a sum adds to that."""

FLOOR = 1e-3
"""What a floor may add to an estimate, and is a convention; as what is added to a normaliser is."""


def _unscaled(x: np.ndarray, scale: str) -> np.ndarray:
    """Rows that become x when the target scales them."""
    return x / scaled(np.ones(WIDTH), scale)[0]


def _positive(draw: "FeatureDraw", x: np.ndarray) -> tuple[Trouble | None, bool]:
    answer = draw.ask(x, FIRST)
    return answer.trouble, not answer.trouble and bool((answer.output >= 0).all())


def _both(draw: "FeatureDraw", x: np.ndarray, seed: int) -> "tuple[Answer, Answer]":
    """Features of rows as queries, and as keys; one call where the target is not told which they are."""
    queries = draw.ask(x, seed)
    return queries, draw.ask(x, seed, query=False) if "query" in draw.names else queries


def signs(draw: "FeatureDraw") -> Said:
    """A row on an axis and its negative have features of one length, on average."""
    x = _unscaled(T / 2 * np.concatenate([np.eye(WIDTH), -np.eye(WIDTH)]), draw.scale)
    trouble, positive = _positive(draw, x)
    if trouble:
        return failed(trouble)
    if not positive:
        return NOTHING  # sines and cosines give both one length, whatever w
    gaps, count = np.zeros(DRAWS), 1
    right = KERNELS[draw.kernel](scaled(x, draw.scale), scaled(x, draw.scale))[0]
    for i in range(DRAWS):
        queries, keys = _both(draw, x, FIRST + i)
        if trouble := queries.trouble or keys.trouble:
            return failed(trouble)
        count = queries.output.shape[-1]
        sizes = (queries.output[0, 0] * keys.output[0, 0]).sum(-1) / right
        gaps[i] = (sizes[:WIDTH] - sizes[WIDTH:]).mean()
    if not np.isfinite(gaps).all():
        return Said(Verdict.FAILS, "a feature is no number", trouble=NOT_FINITE)
    if draw.same_at_zero(FIRST):
        variance = (2 * np.expm1(T**2) - 2 * np.expm1(-(T**2))) / count / WIDTH
        # As by the kernel, twice the variance leaves room for what another law judges.
        bound, about = known_variance(2 * variance), ""
    elif why := uneven(gaps):
        return Said(Verdict.NOT_JUDGED, why, DRAWS)
    else:
        about = "about "
        bound = normal("means of four differences, whose law is symmetric; no formula of their variance is known")
    interval = bound.interval(gaps, ALPHA)
    if not agrees(interval, 0.0, ROUNDING):
        return Said(
            Verdict.FAILS,
            f"on the axes, phi(x) . phi(x) and phi(-x) . phi(-x) are apart by {gaps.mean():.2g} of the kernel "
            f"in the mean of {DRAWS} draws: the signs of projections are not random",
            DRAWS,
        )
    return Said(
        Verdict.HOLDS, f"{interval.width:.2g} of the kernel would be seen; false alarms {about}{ALPHA:g}", DRAWS
    )


def small(draw: "FeatureDraw") -> Said:
    """The estimate of a kernel that is nearly zero is not above it in every draw."""
    x = _unscaled(LONG * np.array([[0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, -0.5]]), draw.scale)
    trouble, positive = _positive(draw, x)
    if trouble:
        return failed(trouble)
    if not positive:
        return NOTHING  # the error of sines and cosines is larger than such a kernel
    right = float(KERNELS[draw.kernel](scaled(x[0], draw.scale), scaled(x[1], draw.scale)))
    found = np.zeros(FEW)
    for i in range(FEW):
        queries, keys = _both(draw, x, FIRST + i)
        if trouble := queries.trouble or keys.trouble:
            return failed(trouble)
        found[i] = (queries.output[0, 0, 0] * keys.output[0, 0, 1]).sum()
    if not np.isfinite(found).all():
        return Said(Verdict.FAILS, "a feature is no number", trouble=NOT_FINITE)
    said = f"the mean of {FEW} estimates is {found.mean():.2g}, and the kernel is {right:.2g}"
    if (found <= right * (1 + ROUNDING)).any():
        return Said(Verdict.HOLDS, said, FEW)
    if found.mean() - right > FLOOR:
        return Said(Verdict.FAILS, f"{said}; all are above it", FEW)
    return Said(Verdict.CONVENTION, f"{said}; all are above it, so features have a floor", FEW)
