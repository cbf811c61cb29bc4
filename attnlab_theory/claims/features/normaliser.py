"""The normaliser of a row of attention from random features, and its sign (docs/mathematics/features.md)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.features.maps import MAPS, of_first
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.features import normaliser as theory
from attnlab_theory.theory.features.estimator import Estimator


class FeatureRow(Setting):
    """One query of width d, the first n of `keys` keys, features from the first m of `projections` projections.

    One program serves every n and m.
    """

    estimator: Estimator
    d: int
    keys: int
    projections: int
    n: Traced[int]
    m: Traced[int]


WIDEST = 36
"""The largest width of a row: narrower points are the first coordinates of the widest."""


@functools.cache
def _row_problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A query and keys with coordinates of mean square one, divided by d^(1/4), so that their products have the
    scale 1/sqrt(d)."""
    with jax.ensure_compile_time_eval():
        points = np.asarray(jax.random.normal(key_for(0, "feature-row"), (n + 1, WIDEST), jnp.float32))[:, :d]
    points = points * (d**0.25 / np.linalg.norm(points, axis=1, keepdims=True))
    return points[0], points[1:]


def _row_estimates(key: PRNGKeyArray, setting: FeatureRow) -> Float[Array, "t s"]:
    """Estimates for the first n keys, zero for all others."""
    q, k = (jnp.asarray(array, float) for array in _row_problem(setting.keys, setting.d))
    projection = gaussian_projection(key, setting.projections, setting.d)
    features = MAPS[setting.estimator]
    phi_q = of_first(features(q[None], projection), setting.projections, setting.m)
    estimates = phi_q @ features(k, projection).T
    return jnp.where((jnp.arange(setting.keys, dtype=k.dtype) < setting.n)[None], estimates, 0)


def _normaliser_fails(key: PRNGKeyArray, setting: FeatureRow) -> Float[Array, ""]:
    return jnp.where(jnp.sum(_row_estimates(key, setting)) <= 0, 1.0, 0.0)


def _some_weight_outside(key: PRNGKeyArray, setting: FeatureRow) -> Float[Array, ""]:
    estimates = _row_estimates(key, setting)
    weights = estimates / jnp.sum(estimates)
    return jnp.where(jnp.any((weights < 0) | (weights > 1)), 1.0, 0.0)


def _failure_band(setting: FeatureRow) -> Interval:
    """The normal law, corrected for skewness, plus or minus 0.01 and the size of the correction."""
    q, k = (array.astype(np.float64) for array in _row_problem(setting.keys, setting.d))
    probability, correction = theory.not_positive(q, k[: setting.n], m=setting.m)
    return Interval(max(0.0, probability - 0.01 - correction), min(1.0, probability + 0.01 + correction))


BY_LENGTH = tuple(
    FeatureRow(estimator=Estimator.TRIGONOMETRIC, d=16, keys=64, projections=64, n=n, m=64) for n in (8, 16, 64)
)
BY_PROJECTIONS = tuple(
    FeatureRow(estimator=Estimator.TRIGONOMETRIC, d=16, keys=64, projections=64, n=64, m=m) for m in (16, 32, 64)
)
BY_WIDTH = (
    BY_LENGTH[-1],
    *(FeatureRow(estimator=Estimator.TRIGONOMETRIC, d=d, keys=64, projections=64, n=64, m=64) for d in (25, 36)),
)


def _one_error_for_all(setting: FeatureRow) -> Interval:
    q, k = (array.astype(np.float64) for array in _row_problem(setting.keys, setting.d))
    return Interval.point(theory.not_positive_if_keys_err_alike(q, k[: setting.n], m=setting.m))


def _if_normal(setting: FeatureRow) -> Interval:
    q, k = (array.astype(np.float64) for array in _row_problem(setting.keys, setting.d))
    return Interval.point(theory.not_positive_if_normal(setting.estimator, q, k[: setting.n], m=setting.m))


A_ROW = (
    at_least(d=2)
    | at_most(d=WIDEST)
    | {
        "1 <= n <= keys": lambda s: 1 <= s.n <= s.keys,
        "1 <= m <= projections": lambda s: 1 <= s.m <= s.projections,
    }
)

NORMALISER = Claim(
    name="normaliser-of-trigonometric-features-is-not-positive",
    statement=r"For queries and keys of coordinates of size one, scale $1/\sqrt d$, the normaliser made of "
    r"trigonometric features is $\leq 0$ with probability $\Phi(-\sqrt m / s)$, corrected for skewness, "
    r"$s^2 = \sum \alpha_i \alpha_j (\cosh(b_i \cdot b_j) - 1)$, $b_i = q - k_i$ (within 0.01).",
    source="mathematics/features.md#the-sign-of-the-normalizer; practical4/3h.2",
    hypotheses=A_ROW | {"trigonometric features": lambda s: s.estimator is Estimator.TRIGONOMETRIC},
    predict=_failure_band,
    draw=_normaliser_fails,
    bound=proportion(),
    resolution=lambda s: min(0.08, 0.45 * (_one_error_for_all(s).low - _failure_band(s).high)),
    rival=Rival(
        statement="All keys err alike, so that more of them do not help.",
        source="the covariances of the keys replaced by the products of their deviations",
        predict=_one_error_for_all,
    ),
    settings=tuple(dict.fromkeys((*BY_LENGTH, *BY_WIDTH, *BY_PROJECTIONS))),
    stream="feature-rows",
    chunk=128,
)

NORMALISER_OF_POSITIVE = dataclasses.replace(
    NORMALISER,
    name="normaliser-of-positive-features-is-positive",
    statement="The normaliser made of positive features is positive whatever is drawn.",
    source="mathematics/features.md#the-sign-of-the-normalizer; Choromanski et al. 2021; practical4/3h.3",
    hypotheses=A_ROW | {"positive features": lambda s: s.estimator is Estimator.POSITIVE},
    predict=Interval.point(0.0),
    resolution=0.005,
    rival=Rival(
        statement="Theirs too fails as often as a normal number of its mean and variance does.",
        source="the central limit theorem, where it does not hold yet: a sum of positive numbers is not symmetric",
        predict=_if_normal,
    ),
    settings=tuple(dataclasses.replace(s, estimator=Estimator.POSITIVE) for s in BY_LENGTH),
)

WEIGHTS_INSIDE = foil(
    NORMALISER,
    name="weights-of-trigonometric-features-are-weights",
    statement="A row of weights made of trigonometric features lies in [0, 1] with probability 0.99 at least.",
    source="mathematics/features.md#the-sign-of-the-normalizer, a row with one number outside is no mean of "
    "values; practical4/3h.2",
    predict=Interval.at_most(0.01),
    draw=_some_weight_outside,
    settings=tuple(
        FeatureRow(estimator=Estimator.TRIGONOMETRIC, d=16, keys=64, projections=256, n=64, m=m) for m in (64, 256)
    ),
)

CLAIMS = (NORMALISER, NORMALISER_OF_POSITIVE, WEIGHTS_INSIDE)
