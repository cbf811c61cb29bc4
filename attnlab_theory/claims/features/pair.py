"""What the claims about random features share: one pair of points, an estimator, a coupling, and their law."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import attention, sampling
from attnlab_theory.claims.features.maps import MAPS
from attnlab_theory.stats import Bound, known_variance
from attnlab_theory.theory.features import dense_exponential
from attnlab_theory.theory.features import pair as feature_covariance
from attnlab_theory.theory.features import variance as theory

COSINE = 0.6
"""Of the angle between x + y and x - y: the two points differ in norm, and no error depends on it."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """Points x, y with |x + y|^2 = length and |x - y|^2 = difference; the first m of some projections of width d.

    Coupling is "independent", "orthogonal", "sqrt-norm" (orthogonal, all norms sqrt(d)) or "quasi"; a is the
    parameter of the generalised exponential estimator, and 0 for the others. At power 1 an estimate is judged, at 2
    its squared error. It and m are floats, so that one compiled draw serves all.
    """

    estimator: str
    coupling: str
    d: int
    projections: int
    m: float
    length: float
    difference: float
    a: float
    power: float


HYPOTHESES = {
    "L >= 0, D >= 0": lambda s: s.length >= 0 and s.difference >= 0,
    "a < 1/8": lambda s: s.a < 1 / 8,
    "d >= 2": lambda s: s.d >= 2,
}


def pair(
    estimator: str,
    m: int,
    length: float,
    difference: float,
    *,
    d: int = 8,
    coupling: str = "independent",
    of: int | None = None,
) -> Pair:
    """A setting for squared errors, the generalised exponential estimator at its best parameter.

    Args:
        of: how many projections are drawn, of which the first m count; by default no more.
    """
    a = feature_covariance.best_parameter(length, d) if estimator == "generalized" else 0.0
    return Pair(estimator, coupling, d, of or m, float(m), length, difference, a, 2.0)


def once(setting: Pair) -> Pair:
    """The same for the estimate itself."""
    return dataclasses.replace(setting, power=1.0)


def directions(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors along x + y and x - y, in general position."""
    along, across = np.cos(np.arange(1, d + 1)), np.sin(np.arange(1, d + 1) ** 1.5)
    along /= np.linalg.norm(along)
    across -= (across @ along) * along
    return along, COSINE * along + (1 - COSINE**2) ** 0.5 * across / np.linalg.norm(across)


@functools.cache
def dense_parameters(d: int) -> tuple[np.ndarray, np.ndarray]:
    """The best for data of mean squared length 1, four fifths of it along x + y."""
    along, _ = directions(d)
    return dense_exponential.best_parameters(0.8 * np.outer(along, along) + 0.2 / d * np.eye(d))


def points(setting: Pair) -> tuple[Float[Array, "1 d"], Float[Array, "1 d"]]:
    """x and y, as single rows."""
    along, apart = (jnp.asarray(u)[None] for u in directions(setting.d))
    total = jnp.sqrt(jnp.asarray(setting.length, along.dtype)) * along
    between = jnp.sqrt(jnp.asarray(setting.difference, along.dtype)) * apart
    return (total + between) / 2, (total - between) / 2


def features(setting: Pair, x: Float[Array, "t d"], w: Float[Array, "m d"]) -> Float[Array, "t f"]:
    """The estimator's features."""
    if setting.estimator == "generalized":
        return attention.generalized_exponential_features(x, w, a=setting.a)
    if setting.estimator == "dense":
        a, basis = (jnp.asarray(part, x.dtype) for part in dense_parameters(setting.d))
        return attention.dense_exponential_features(x, w, a=a, basis=basis)
    return MAPS[setting.estimator](x, w)


def projection(key: PRNGKeyArray, setting: Pair) -> Float[Array, "m d"]:
    """Projections under the coupling."""
    m, d = setting.projections, setting.d
    if setting.coupling == "orthogonal":
        return sampling.orthogonal_projection(key, m, d, norms="chi")
    if setting.coupling == "sqrt-norm":
        return sampling.orthogonal_projection(key, m, d, norms="sqrt")
    if setting.coupling == "quasi":
        return sampling.quasi_monte_carlo_projection(key, m, d)
    return sampling.gaussian_projection(key, m, d)


def estimate(setting: Pair, w: Float[Array, "m d"]) -> Float[Array, ""]:
    """The estimate of exp(x . y), divided by it."""
    x, y = points(setting)
    exact = jnp.exp((jnp.asarray(setting.length, x.dtype) - setting.difference) / 4)
    products = features(setting, x, w) * features(setting, y, w)
    kept = jnp.arange(w.shape[0], dtype=x.dtype) < setting.m
    total = jnp.sum(products.reshape(-1, w.shape[0]) @ kept.astype(x.dtype))
    return total * (w.shape[0] / jnp.asarray(setting.m, x.dtype)) / exact


def draw(key: PRNGKeyArray, setting: Pair) -> Float[Array, ""]:
    """One estimate relative to what it estimates, or its squared relative error."""
    found = estimate(setting, projection(key, setting))
    return jnp.where(setting.power == 2, (found - 1) ** 2, found)


def powers(setting: Pair) -> theory.Powers:
    """The law of one projection's product."""
    if setting.estimator == "trigonometric":
        return theory.trigonometric(setting.difference)
    if setting.estimator == "hyperbolic":
        return theory.hyperbolic(setting.length)
    if setting.estimator == "generalized":
        return theory.generalized(setting.length, setting.d, setting.a)
    if setting.estimator == "dense":
        a, basis = dense_parameters(setting.d)
        along, _ = directions(setting.d)
        return theory.dense(tuple(setting.length * (along @ basis) ** 2), tuple(a))
    return theory.positive(setting.length)


def block_width(setting: Pair) -> int | None:
    """The width of the orthogonal blocks; None if projections are independent."""
    return setting.d if setting.coupling == "orthogonal" else None


def error(setting: Pair) -> float:
    """The predicted mean squared relative error."""
    return theory.mean_squared_error(powers(setting), round(setting.m), orthogonal_in=block_width(setting))


def estimate_bound(setting: Pair) -> Bound:
    """Of an estimate: its variance is the mean squared error, 1 % more for rounding."""
    return known_variance(1.01 * error(setting) + 1e-9)


def squared_error_bound(setting: Pair) -> Bound:
    """Of a squared error: from its fourth moment, 1 % more for rounding."""
    spread = theory.squared_error_variance(powers(setting), round(setting.m), orthogonal_in=block_width(setting))
    return known_variance(1.01 * spread + 1e-12)
