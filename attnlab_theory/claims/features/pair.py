"""What the claims about random features share: one pair of points, an estimator, a coupling, and their law."""

import dataclasses
import functools
from typing import assert_never

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import attention
from attnlab_theory.claims.features.maps import MAPS
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import Coupling, coupled_projection
from attnlab_theory.stats import Bound, known_variance
from attnlab_theory.theory.features import dense_exponential
from attnlab_theory.theory.features import pair as law
from attnlab_theory.theory.features import variance as theory
from attnlab_theory.theory.features.estimator import Estimator

COSINE = 0.6
"""The cosine of the angle between x + y and x - y. It makes the two points differ in norm; no error depends on it.
"""


class PairOfPoints(Setting):
    """Points x, y with |x + y|^2 = sum_square and |x - y|^2 = difference_square, and m projections of width d.

    The first m of `projections` rows are used; a is the parameter of generalized exponential features, and 0 for
    the others. At power 1 an estimate is judged, at power 2 its squared error.
    """

    estimator: Estimator
    coupling: Coupling
    d: int
    projections: int
    m: Traced[int]
    sum_square: Traced[float]
    difference_square: Traced[float]
    a: Traced[float]
    power: Traced[int]


LONGEST, FARTHEST = 32, 40
"""The largest |x + y|^2 and |x - y|^2: estimates for points further apart leave the range of float32."""

HYPOTHESES = {
    "L >= 0, D >= 0": lambda s: s.sum_square >= 0 and s.difference_square >= 0,
    f"L <= {LONGEST}, D <= {FARTHEST}": lambda s: s.sum_square <= LONGEST and s.difference_square <= FARTHEST,
    "a < 1/8": lambda s: s.a < 1 / 8,
    "d >= 2": lambda s: s.d >= 2,
    "1 <= m <= projections": lambda s: 1 <= s.m <= s.projections,
    "a parameter of generalized features": lambda s: s.estimator is Estimator.GENERALIZED or s.a == 0,
}


INDEPENDENT = {"independent projections": lambda s: s.coupling is Coupling.INDEPENDENT}
ORTHOGONAL = {
    "orthogonal projections": lambda s: s.coupling is Coupling.ORTHOGONAL,
    "a map without axes of its own": lambda s: s.estimator in MAPS,
}
QUASI = {
    "Sobol points": lambda s: s.coupling is Coupling.QUASI_MONTE_CARLO,
    "trigonometric features": lambda s: s.estimator is Estimator.TRIGONOMETRIC,
}
ONCE = {"an estimate": lambda s: s.power == 1}
SQUARED = {"a squared error": lambda s: s.power == 2}


def pair(
    estimator: Estimator,
    m: int,
    sum_square: float,
    difference_square: float,
    *,
    d: int = 8,
    coupling: Coupling = Coupling.INDEPENDENT,
    of: int | None = None,
) -> PairOfPoints:
    """A setting for squared errors. Generalized exponential features get their best parameter.

    Args:
        estimator, coupling: what is judged.
        m: the number of projections that are used.
        sum_square, difference_square: L = |x + y|^2 and D = |x - y|^2.
        d: width of the points.
        of: how many projections are drawn, of which the first m count; by default no more.
    """
    return PairOfPoints(
        estimator=estimator,
        coupling=coupling,
        d=d,
        projections=of or m,
        m=m,
        sum_square=sum_square,
        difference_square=difference_square,
        a=law.best_parameter(sum_square, d) if estimator is Estimator.GENERALIZED else 0.0,
        power=2,
    )


def once(setting: PairOfPoints) -> PairOfPoints:
    """The same setting for the estimate itself, instead of its squared error."""
    return dataclasses.replace(setting, power=1)


def directions(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors along x + y and x - y, in general position."""
    along, across = np.cos(np.arange(1, d + 1)), np.sin(np.arange(1, d + 1) ** 1.5)
    along /= np.linalg.norm(along)
    across -= (across @ along) * along
    return along, COSINE * along + (1 - COSINE**2) ** 0.5 * across / np.linalg.norm(across)


@functools.cache
def dense_parameters(d: int) -> tuple[np.ndarray, np.ndarray]:
    """The best parameters of dense exponential features for data of mean squared length 1, four fifths of it along
    x + y."""
    along, _ = directions(d)
    return dense_exponential.best_parameters(0.8 * np.outer(along, along) + 0.2 / d * np.eye(d))


def points(setting: PairOfPoints) -> tuple[Float[Array, "1 d"], Float[Array, "1 d"]]:
    """x and y, as single rows."""
    along, apart = (jnp.asarray(u)[None] for u in directions(setting.d))
    total = jnp.sqrt(jnp.asarray(setting.sum_square, along.dtype)) * along
    between = jnp.sqrt(jnp.asarray(setting.difference_square, along.dtype)) * apart
    return (total + between) / 2, (total - between) / 2


def features(setting: PairOfPoints, x: Float[Array, "t d"], w: Float[Array, "m d"]) -> Float[Array, "t f"]:
    """The estimator's features."""
    match setting.estimator:
        case Estimator.TRIGONOMETRIC | Estimator.POSITIVE | Estimator.HYPERBOLIC as plain:
            return MAPS[plain](x, w)
        case Estimator.GENERALIZED:
            return attention.generalized_exponential_features(x, w, a=setting.a)
        case Estimator.DENSE:
            a, basis = (jnp.asarray(part, x.dtype) for part in dense_parameters(setting.d))
            return attention.dense_exponential_features(x, w, a=a, basis=basis)
        case _:
            assert_never(setting.estimator)


def projection(key: PRNGKeyArray, setting: PairOfPoints) -> Float[Array, "m d"]:
    """Projections under the coupling."""
    return coupled_projection(key, setting.projections, setting.d, setting.coupling)


def estimate(setting: PairOfPoints, w: Float[Array, "m d"]) -> Float[Array, ""]:
    """The estimate of exp(x . y), divided by it."""
    x, y = points(setting)
    exact = jnp.exp((jnp.asarray(setting.sum_square, x.dtype) - setting.difference_square) / 4)
    products = features(setting, x, w) * features(setting, y, w)
    kept = jnp.arange(w.shape[0], dtype=x.dtype) < setting.m
    total = jnp.sum(products.reshape(-1, w.shape[0]) @ kept.astype(x.dtype))
    return total * (w.shape[0] / jnp.asarray(setting.m, x.dtype)) / exact


def draw(key: PRNGKeyArray, setting: PairOfPoints) -> Float[Array, ""]:
    """One estimate relative to what it estimates, or its squared relative error."""
    found = estimate(setting, projection(key, setting))
    return jnp.where(setting.power == 2, (found - 1) ** 2, found)


def powers(setting: PairOfPoints) -> theory.Powers:
    """The law of one projection's product."""
    match setting.estimator:
        case Estimator.TRIGONOMETRIC:
            return theory.trigonometric(setting.difference_square)
        case Estimator.HYPERBOLIC:
            return theory.hyperbolic(setting.sum_square)
        case Estimator.POSITIVE:
            return theory.positive(setting.sum_square)
        case Estimator.GENERALIZED:
            return theory.generalized(setting.sum_square, setting.d, setting.a)
        case Estimator.DENSE:
            a, basis = dense_parameters(setting.d)
            along, _ = directions(setting.d)
            return theory.dense(tuple(setting.sum_square * (along @ basis) ** 2), tuple(a))
        case _:
            assert_never(setting.estimator)


def block_width(setting: PairOfPoints) -> int | None:
    """The width of the orthogonal blocks; None if projections are independent."""
    return setting.d if setting.coupling is Coupling.ORTHOGONAL else None


def error(setting: PairOfPoints) -> float:
    """The predicted mean squared relative error."""
    return theory.mean_squared_error(powers(setting), setting.m, orthogonal_in=block_width(setting))


def estimate_bound(setting: PairOfPoints) -> Bound:
    """The bound of an estimate: its variance is the mean squared error. Rounding may add 1 %."""
    return known_variance(1.01 * error(setting) + 1e-9)


def squared_error_bound(setting: PairOfPoints) -> Bound:
    """The bound of a squared error, from the fourth moment of the error. Rounding may add 1 %."""
    spread = theory.squared_error_variance(powers(setting), setting.m, orthogonal_in=block_width(setting))
    return known_variance(1.01 * spread + 1e-12)
