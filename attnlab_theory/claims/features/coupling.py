"""What coupling the projections gains (claims G.3): orthogonal ones exactly, quasi-random ones as a bound."""

import dataclasses
import math

from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.features import pair as problem
from attnlab_theory.claims.features.pair import Pair, pair
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.features import variance as theory

WIDTHS = (2, 4, 16)
CHUNK = 256


def _orthogonal(estimator: str, d: int, m: int) -> Pair:
    return pair(estimator, m, 0.5, 0.5, d=d, coupling="orthogonal")


ERROR = Claim(
    name="orthogonal-feature-error",
    statement=r"Orthogonal projections (norms $\chi_d$, blocks of $d$) change the error by the covariance of a "
    r"pair, exactly: MSE = MSE(independent) + $C\,\sum_b m_b(m_b-1)/m^2$.",
    source="claims G.3",
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(problem.error(s)),
    draw=problem.draw,
    bound=problem.squared_error_bound,
    resolution=lambda s: 0.15 * problem.error(s),
    settings=(
        *(_orthogonal("positive", d, d) for d in WIDTHS),
        *(_orthogonal("trigonometric", d, d) for d in WIDTHS),
        _orthogonal("positive", 8, 20),
        *(pair(estimator, 8, 0.5, 0.5) for estimator in ("positive", "trigonometric")),
    ),
    stream="orthogonal-products",
    chunk=CHUNK,
)


def _independent_error(setting: Pair) -> float:
    return theory.mean_squared_error(problem.powers(setting), round(setting.m))


def _published(setting: Pair) -> float:
    shift = theory.published_orthogonal_covariance(setting.length, setting.d)
    return _independent_error(setting) + (1 - 1 / setting.m) * shift


PUBLISHED = dataclasses.replace(
    ERROR,
    name="published-orthogonal-bound",
    statement=r"Orthogonal positive features err by at most MSE(independent) "
    r"$- (1-\frac{1}{m})\frac{2}{d+2}(\mathrm{SM} - e^{-(\|x\|^2+\|y\|^2)/2})^2$, $m \leq d$.",
    source="claims G.3; Choromanski et al. 2021, theorem 2",
    hypotheses={**problem.HYPOTHESES, "m <= d": lambda s: s.m <= s.d},
    predict=lambda s: Interval.at_most(_published(s)),
    settings=tuple(_orthogonal("positive", d, d) for d in WIDTHS[1:]),
)

FLIPPED = dataclasses.replace(
    PUBLISHED,
    name="published-orthogonal-bound-flipped",
    statement="The same with the sign of the gain flipped: orthogonality costs at least as much.",
    source="claims G.3 with a sign flipped",
    predict=lambda s: Interval.at_least(2 * _independent_error(s) - _published(s)),
    expect=Verdict.REFUTED,
)

QUASI = dataclasses.replace(
    ERROR,
    name="quasi-monte-carlo-error",
    statement="Sixteen scrambled Sobol points in four dimensions err by less than half of what sixteen "
    "independent projections do, in mean square.",
    source="no published constant: the half is ours",
    predict=lambda s: Interval.at_most(_independent_error(s) / 2),
    # |f| <= e^(D/2) for a trigonometric product, and a mean of such.
    bound=lambda s: bounded(0.0, 1.001 * (math.exp(s.difference / 2) + 1) ** 2),
    resolution=lambda s: 0.2 * _independent_error(s),
    settings=tuple(pair("trigonometric", 16, 1.5, square, d=4, coupling="quasi") for square in (1.25, 1.5, 1.75)),
)

CLAIMS = (ERROR, PUBLISHED, FLIPPED, QUASI)
