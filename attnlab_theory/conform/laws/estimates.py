"""What holds of random features: laws, each with its error rate."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, WROTE, Verdict
from attnlab_theory.conform.laws import opposites
from attnlab_theory.conform.laws.dice import ALPHA, agrees, seeded, uneven
from attnlab_theory.conform.laws.kernels import KERNELS, variance
from attnlab_theory.conform.laws.mapping import COUNT, PLACED, Estimates, FeatureDraw
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, failed, refuses
from attnlab_theory.stats import known_variance, normal

DRAWS = 1000
"""Draws of each law."""

FIRST = 10_000
"""The first seed of the laws."""

SLACK = 1e-4
"""Rounding of a sum of at most a few hundred features in float32, relative to the kernel."""

LARGEST_SHARE = 1.1
"""How large a share of the variance of independent features may be seen; more is a failure."""


def family(features: np.ndarray, scaled: np.ndarray, kernel: str) -> str:
    """Which formula of `kernels.variance` features follow: positive, pairs of cos and sin, or phases."""
    if (features >= 0).all():
        return "positive"
    size = np.exp((scaled**2).sum(-1)) if kernel == "softmax" else np.ones(len(scaled))
    return "pairs" if np.allclose((features**2).sum(-1), size, rtol=1e-3) else "phases"


class Features:
    """Random features of one target, drawn once for all laws."""

    def __init__(self, drawing: FeatureDraw) -> None:
        self.drawing = drawing
        self._drawn: dict[int | None, Estimates] = {}

    def drawn(self, count: int | None = None) -> Estimates:
        """The estimates of all laws, by so many features."""
        if count not in self._drawn:
            self._drawn[count] = self.drawing.estimates(range(FIRST, FIRST + DRAWS), count)
        return self._drawn[count]

    def variances(self, drawn: Estimates) -> np.ndarray:
        """What independent features would have as variance: [pairs] by a formula, or [draws pairs] as measured.

        Positive features that differ for a row of zeros are no exp(w.x): generalized exponential ones are not.
        They are taken one by one. The variance of a sum of independent numbers is the sum of their variances, and
        each draw has its part of that.
        """
        q, k = self.drawing.rows()
        found = family(drawn.features, q, self.drawing.kernel)
        if found == "positive" and not self.drawing.same_at_zero(FIRST):
            return ((drawn.products - drawn.products.mean(0)) ** 2).sum(-1)
        return variance(self.drawing.kernel, found, q, k, drawn.features.shape[-1])

    @property
    def right(self) -> np.ndarray:
        """The kernel of each pair."""
        return KERNELS[self.drawing.kernel](*self.drawing.rows())


def kernel(features: Features) -> Said:
    """The mean of phi(q) . phi(k) is the kernel."""
    drawn = features.drawn()
    if drawn.trouble:
        return failed(drawn.trouble)
    if not np.isfinite(drawn.products).all():
        return Said(Verdict.FAILS, "a feature is no number", trouble=NOT_FINITE)
    width, right, variances = 0.0, features.right, features.variances(drawn)
    unseen, about = np.inf, ""
    if variances.ndim == 2:
        about = "about "
        if why := uneven(drawn.sums - drawn.sums.mean(0)):
            return Said(Verdict.NOT_JUDGED, why, DRAWS)
        variances = variances.mean(0)
    for pair, row in enumerate(drawn.sums.T):
        # The variance that is assumed is judged by a law of its own; twice of it leaves room for both.
        interval = known_variance(2 * float(variances[pair])).interval(row, ALPHA / len(right))
        width = max(width, interval.width / right[pair])
        # A scale that is off by a part of it makes of K a power of K.
        unseen = min(
            unseen, math.log1p(interval.width / right[pair] + SLACK) / max(abs(math.log(right[pair])), 1e-9)
        )
        if not agrees(interval, right[pair], SLACK * right[pair]):
            q, k = (PLACED[pair, i].tolist() for i in range(2))
            said = f"the mean of {DRAWS} draws is {row.mean():.4g}, and the kernel is {right[pair]:.4g}"
            return Said(Verdict.FAILS, f"{said}, for q = {q}, k = {k}", DRAWS)
    said = f"{width:.2g} of it would be seen; a scale that is wrong by less than {unseen:.0%} could pass"
    return Said(Verdict.HOLDS, f"{said}; false alarms {about}{ALPHA:g}", DRAWS)


def spread(features: Features) -> Said:
    """The variance is at most that of as many independent features; also where their number is an argument."""
    shares = []
    counts = (COUNT, COUNT // 4) if {"count", "projection"} & set(features.drawing.names) else (None,)
    bound = normal("the mean of a thousand squares; their law is skewed to the right, which makes it too low")
    for count in counts:
        drawn = features.drawn(count if count != COUNT else None)
        if drawn.trouble:
            return failed(drawn.trouble)
        own, number = features.variances(drawn), drawn.features.shape[-1]
        errors = drawn.sums - drawn.sums.mean(0)
        if own.ndim == 2 and (why := uneven(errors)):
            return Said(Verdict.NOT_JUDGED, why, DRAWS)
        # Squares less what they should be on average, in units of that, which may be measured.
        more = (errors**2 - own) / np.atleast_2d(own).mean(0)
        for pair, row in enumerate(more.T):
            interval = bound.interval(row, ALPHA / more.shape[1] / len(counts))
            if interval.low > LARGEST_SHARE - 1:
                said = f"{number} features have the variance of {number / (1 + row.mean()):.3g}"
                return Said(
                    Verdict.FAILS, f"{said} independent ones (pair {pair}); false alarms about {ALPHA:g}", DRAWS
                )
        shares.append(1 + more.mean())
    said = ", ".join(f"{share:.2f}" for share in shares)
    return Said(
        Verdict.HOLDS, f"{said} of that of independent features; false alarms about {ALPHA:g}", DRAWS * len(counts)
    )


def counted(features: Features) -> Said:
    """The number of features that is asked for is the number that comes, or twice it."""
    if "count" not in features.drawing.names:
        return NOTHING
    widths = [features.drawn(count).features.shape[-1] for count in (None, COUNT // 4)]
    if widths[0] != 4 * widths[1] or not widths[0]:
        return Said(Verdict.FAILS, f"{COUNT} and {COUNT // 4} are asked for, and {widths[0]} and {widths[1]} come")
    return Said(Verdict.CONVENTION, f"{COUNT} are asked for, and {widths[0]} come")


def seeds(features: Features) -> Said:
    """The same seed gives the same features, another seed others."""
    draw = features.drawing
    first, other = draw.ask(PLACED[:, 0], 7), draw.ask(PLACED[:, 0], 8)
    draw.ask(PLACED[:, 1], 9)
    return seeded(draw.dice, first, draw.ask(PLACED[:, 0], 7), other)


def independent(features: Features) -> Said:
    """Seeds that follow each other give estimates that are not correlated."""
    drawn = features.drawn()
    if drawn.trouble:
        return failed(drawn.trouble)
    errors = drawn.sums - drawn.sums.mean(0)
    # Of one pair, for all pairs share their projections.
    products = errors[::2, 0] * errors[1::2, 0] / max(float((errors[:, 0] ** 2).mean()), 1e-300)
    if products.min() == products.max():
        return Said(Verdict.FAILS, "all seeds give the same estimate", DRAWS)
    interval = normal("five hundred products of two estimates").interval(products, ALPHA)
    if not agrees(interval, 0.0):
        return Said(Verdict.FAILS, f"estimates by two seeds have the correlation {products.mean():.2f}", DRAWS)
    return Said(
        Verdict.HOLDS, f"a correlation of {interval.width:.2g} would be seen; false alarms about {ALPHA:g}", DRAWS
    )


def rows_apart(features: Features) -> Said:
    """The features of a row do not depend on the rows beside it."""
    draw = features.drawing
    alone = draw.ask(PLACED[:1, 0], 3)
    beside = np.concatenate([PLACED[:1, 0], 3 * PLACED[1:, 1]])
    together = draw.ask(beside, 3)
    if trouble := alone.trouble or together.trouble:
        return failed(trouble)
    one, other = alone.output[0, 0, 0], together.output[0, 0, 0]
    if one.shape != other.shape or not np.allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(one).max()):
        if one.shape == other.shape:
            saw(draw.asker.caller, other, one, 2 + np.abs(other - one))
        with np.errstate(all="ignore"):
            ratio = other / one if one.shape == other.shape else np.zeros(1)
        why = ": all by one factor, as a maximum that is subtracted does" if np.ptp(ratio) < 1e-3 else ""
        return Said(Verdict.FAILS, f"a row has other features beside other rows{why}")
    return Said(Verdict.HOLDS, "beside longer rows", 2)


def large(features: Features) -> Said:
    """What becomes of long rows is told."""
    answer = features.drawing.ask(20 * PLACED[:, 0], 3)
    if answer.trouble:
        # Features that float32 cannot hold may be refused.
        verdict = Verdict.CONVENTION if refuses(answer.trouble) else Verdict.FAILS
        return Said(verdict, f"rows of length 10 and more: {answer.trouble}", trouble=answer.trouble)
    finite = np.isfinite(answer.output).all()
    return Said(Verdict.CONVENTION, f"rows of length 10 and more: {'numbers' if finite else 'NaN or infinity'}")


def unchanged(features: Features) -> Said:
    """No call has written into what it was given."""
    asker = features.drawing.asker
    if asker.changed:
        # A map has one array only, which the asker calls q.
        line = f"a call writes into {asker.changed.replace('q', 'x', 1)}"
        return Said(Verdict.FAILS, line, asker.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {asker.calls} calls", asker.calls)


LAWS: Mapping[str, Callable[[Features], Said]] = {
    "seeds": seeds,
    "rows apart": rows_apart,
    "kernel": kernel,
    "variance": spread,
    "signs": lambda features: opposites.signs(features.drawing),
    "small kernels": lambda features: opposites.small(features.drawing),
    "count": counted,
    "independent": independent,
    "long rows": large,
    "inputs unchanged": unchanged,
}
"""The laws of a map of rows to features."""
