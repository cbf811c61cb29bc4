"""Random features estimate exp(x . y) without bias. Some couplings of the projections keep it so, some do not.

See docs/mathematics/features.md.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import positive_features
from attnlab_theory.claims.claim import Claim, Rival, Verdict, foil
from attnlab_theory.claims.features import pair as problem
from attnlab_theory.claims.features.pair import PairOfPoints, once, pair
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import Coupling
from attnlab_theory.stats import Bound, Interval, bounded, known_variance
from attnlab_theory.theory.features import bias as fixed
from attnlab_theory.theory.features import variance as theory
from attnlab_theory.theory.features.estimator import Estimator

ESTIMATORS = (
    Estimator.TRIGONOMETRIC,
    Estimator.POSITIVE,
    Estimator.HYPERBOLIC,
    Estimator.GENERALIZED,
    Estimator.DENSE,
)
LENGTHS = ((0.25, 4.0), (1.0, 1.0), (2.0, 0.5), (0.5, 2.0), (1.5, 0.25))
LONGER = (*LENGTHS, (3.0, 3.0), (4.0, 0.5))
CHUNK = 256


def _settings(estimator: Estimator) -> tuple[PairOfPoints, ...]:
    # As many settings as the claim on the error has: the compiled draw is shared.
    chosen = LONGER if estimator in (Estimator.GENERALIZED, Estimator.DENSE) else LENGTHS
    return tuple(once(pair(estimator, 16, *lengths, of=64)) for lengths in chosen)


def noticeable(statement: str, error: Callable[[PairOfPoints], float]) -> Rival[PairOfPoints]:
    """The rival that says: the bias is a quarter of the root mean square error. It would add a sixteenth to the
    mean square.

    Args:
        statement: what the rival says.
        error: the mean square error at a setting.
    """
    return Rival(
        statement=statement,
        source="the smallest bias that would matter: a quarter of the root mean square error",
        predict=lambda s: Interval.at_least(1 + 0.25 * error(s) ** 0.5),
    )


UNBIASED = Claim(
    name="features-are-unbiased",
    statement=r"$\mathbb{E}[\phi(x)\cdot\phi(y)] = e^{x\cdot y}$ for independent projections, whatever the map.",
    source="mathematics/features.md#five-feature-maps; Rahimi and Recht 2007; Choromanski et al. 2021, lemma 1; "
    "Likhosherstov et al. 2022; Likhosherstov et al. 2023; practical4/3h.1",
    hypotheses=problem.HYPOTHESES | problem.INDEPENDENT | problem.ONCE,
    predict=Interval.point(1.0),
    draw=problem.draw,
    bound=problem.estimate_bound,
    resolution=lambda s: 0.1 * problem.error(s) ** 0.5,
    settings=tuple(setting for estimator in ESTIMATORS for setting in _settings(estimator)),
    rival=noticeable("The features overestimate the kernel.", problem.error),
    stream="feature-products",
    chunk=CHUNK,
)

ORTHOGONAL = dataclasses.replace(
    UNBIASED,
    name="orthogonal-features-are-unbiased",
    statement=r"Orthogonal projections keep features unbiased if each has a norm of its own, $\chi_d$-distributed.",
    source="mathematics/features.md#couplings-that-keep-the-mean; Yu et al. 2016; practical4/3h.4",
    hypotheses=problem.HYPOTHESES | problem.ORTHOGONAL | problem.ONCE,
    settings=tuple(
        once(pair(Estimator.POSITIVE, 8, *lengths, coupling=Coupling.ORTHOGONAL, of=20)) for lengths in LENGTHS[:3]
    ),
)


def _cosine_bound(setting: PairOfPoints) -> Bound:
    """One trigonometric product lies in [-e^(D/2), e^(D/2)], and so does a mean of them, whatever the coupling."""
    farthest = 1.001 * math.exp(setting.difference_square / 2)
    return bounded(-farthest, farthest)


QUASI = dataclasses.replace(
    UNBIASED,
    name="quasi-monte-carlo-features-are-unbiased",
    statement="Scrambled Sobol points as projections keep features unbiased.",
    source="mathematics/features.md#couplings-that-keep-the-mean; Owen 1995, for the principle; Matoušek 1998; "
    "Joe and Kuo 2008, for the directions",
    hypotheses=problem.HYPOTHESES | problem.QUASI | problem.ONCE,
    bound=_cosine_bound,
    settings=tuple(
        once(pair(Estimator.TRIGONOMETRIC, 16, *lengths, d=4, coupling=Coupling.QUASI_MONTE_CARLO))
        for lengths in LENGTHS[:3]
    ),
)

FIXED_NORMS = dataclasses.replace(
    UNBIASED,
    name="sqrt-norms-are-biased",
    statement=r"Orthogonal projections of norm $\sqrt{d}$ estimate "
    r"$e^{-(\|x\|^2+\|y\|^2)/2}\,{}_0F_1(;\frac{d}{2};\frac{dL}{4})$ instead of $e^{x\cdot y}$.",
    source="mathematics/features.md#couplings-that-break-the-mean; practical4/3h.4",
    hypotheses=problem.HYPOTHESES
    | problem.ONCE
    | {
        "projections of norm sqrt(d)": lambda s: s.coupling is Coupling.SQRT_NORM,
        "positive features": lambda s: s.estimator is Estimator.POSITIVE,
        "m <= d": lambda s: s.m <= s.d,
    },
    predict=lambda s: Interval.point(fixed.fixed_norm_mean(s.sum_square, s.d)),
    bound=lambda s: known_variance(1.01 * fixed.fixed_norm_variance(s.sum_square, s.d, s.m) + 1e-9),
    resolution=lambda s: 0.45 * (1 - fixed.fixed_norm_mean(s.sum_square, s.d)),
    rival=None,
    settings=tuple(
        once(pair(Estimator.POSITIVE, 8, length, 1.0, coupling=Coupling.SQRT_NORM)) for length in (1.44, 2.0, 4.0)
    ),
)

FIXED_NORMS_UNBIASED = foil(
    FIXED_NORMS,
    name="sqrt-norms-are-unbiased",
    statement=r"Orthogonal projections of norm $\sqrt{d}$ keep features unbiased.",
    source="mathematics/features.md#couplings-that-break-the-mean, practice in several published "
    "implementations; practical4/3h.4",
    predict=Interval.point(1.0),
)


class EqualPoints(Setting):
    """Points x = y along the first axis with |x + y|^2 = sum_square; d projections of width d."""

    d: int
    sum_square: Traced[float]


def orthogonal_without_signs(key: PRNGKeyArray, d: int) -> Float[Array, "d d"]:
    """Projections along the orthogonal factor of a Gaussian matrix, without a correction of its signs."""
    directions, lengths = jax.random.split(key)
    rows = jnp.linalg.qr(jax.random.normal(directions, (d, d)))[0].T
    return jnp.linalg.norm(jax.random.normal(lengths, (d, d)), axis=1, keepdims=True) * rows


def _estimate_by_plain_qr(key: PRNGKeyArray, setting: EqualPoints) -> Float[Array, ""]:
    w = orthogonal_without_signs(key, setting.d)
    x = jnp.zeros((1, setting.d), w.dtype).at[0, 0].set(jnp.sqrt(jnp.asarray(setting.sum_square, w.dtype)) / 2)
    return jnp.sum(positive_features(x, w) ** 2) / jnp.exp(jnp.asarray(setting.sum_square, w.dtype) / 4)


PLAIN_QR = Claim(
    name="plain-qr-is-unbiased",
    statement="The orthogonal factor of a Gaussian matrix is Haar distributed even if no signs are fixed.",
    source="mathematics/features.md#couplings-that-break-the-mean, practice in several published "
    "implementations; Mezzadri 2007, who says why not",
    hypotheses={"L > 0": lambda s: s.sum_square > 0} | at_least(d=2) | at_most(sum_square=problem.LONGEST),
    predict=Interval.point(1.0),
    draw=_estimate_by_plain_qr,
    # A row has at most twice the density of a standard normal one, because its sign depends on its direction.
    bound=lambda s: known_variance(2 * theory.moment(theory.positive(s.sum_square), 2)),
    resolution=0.1,
    settings=tuple(EqualPoints(d=4, sum_square=square) for square in (0.5, 1.0)),
    expect=Verdict.REFUTED,
    chunk=CHUNK,
)

CLAIMS = (UNBIASED, ORTHOGONAL, QUASI, FIXED_NORMS, FIXED_NORMS_UNBIASED, PLAIN_QR)
