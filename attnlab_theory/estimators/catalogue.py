"""The estimators that are compared. Those with parameters are fitted to a problem."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory.attention import (
    log_dense_exponential_features,
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
    trigonometric_features,
)
from attnlab_theory.axes import Scalar
from attnlab_theory.estimators.problem import Problem
from attnlab_theory.theory.features import dense_exponential, pair, variance
from attnlab_theory.theory.features.estimator import Estimator

Signed = Callable[[Float[Array, "t d"], Float[Array, "m d"]], tuple[Float[Array, "t f"], Float[Array, "t 1"]]]
"""(points, projection) -> features divided by a factor so that none overflows, and the logarithm of that factor."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedFeatures:
    """One kind of random features, with its parameters fixed.

    Example:
        `estimators_for` makes them. Trigonometric features are two for each projection: a cosine and a sine.

        >>> from attnlab_theory.estimators.problem import pose
        >>> first = estimators_for(pose(np.eye(3, 2), np.eye(3, 2), scale=1.0))[0]
        >>> first.name.value, first.features_per_projection
        ('trigonometric', 2)

        A query and a key that are equal are estimated without error, so the covariances of their estimates are 0.

        >>> print(first.covariances(np.array([1.0, 0.0]), np.array([[1.0, 0.0]])).round(3) + 0.0)
        [[0.]]
    """

    name: Estimator
    features_per_projection: int
    features: Signed
    covariances: Callable[[Float[np.ndarray, " d"], Float[np.ndarray, "s d"]], Float[np.ndarray, "s s"]]
    """The covariances of one query's estimates with one projection, relative to the kernel's values."""
    powers: Callable[[float], variance.Powers] | None = None
    """The law of one estimate as a function of L, or of D for trigonometric features; None if it depends on
    more."""
    parameter: str = ""
    """The fitted parameters, in words for people."""


@functools.partial(jax.jit, static_argnums=0)
def _without_growth(log_features: Callable, x: Float[Array, "t d"], projection: Float[Array, "m d"], *parameters):
    logs = log_features(x, projection, *parameters)
    largest = jnp.max(logs, axis=1, keepdims=True)
    return jnp.exp(logs - largest), largest


@jax.jit
def _waves(x: Float[Array, "t d"], projection: Float[Array, "m d"]):
    growth = jnp.sum(x**2, axis=1, keepdims=True) / 2
    return trigonometric_features(x, projection) * jnp.exp(-growth), growth


def _log_generalized(x: Float[Array, "t d"], projection: Float[Array, "m d"], a: Scalar):
    return log_generalized_exponential_features(x, projection, a=a)


def _log_dense(x: Float[Array, "t d"], projection: Float[Array, "m d"], a: Array, basis: Array):
    return log_dense_exponential_features(x, projection, a=a, basis=basis)


def estimators_for(problem: Problem) -> tuple[FittedFeatures, ...]:
    """Every estimator. Parameters are chosen for the pairs of query and key that count most in this problem.

    Args:
        problem: from `pose`.

    Example:
        Five estimators. The last two have parameters, fitted to these queries and keys.

        >>> from attnlab_theory.estimators.problem import pose
        >>> for each in estimators_for(pose(np.eye(3, 2), np.eye(3, 2), scale=1.0)):
        ...     print(each.name.value, each.features_per_projection, bool(each.parameter))
        trigonometric 2 False
        positive 1 False
        hyperbolic 2 False
        generalized exponential 1 True
        dense exponential 1 True
    """

    def covariances(name: Estimator):
        return lambda q, k: pair.covariances(name, q, k)

    width = problem.q.shape[1]
    a = pair.best_parameter(problem.typical(problem.sum_squares), width)
    spectrum, basis = dense_exponential.best_parameters(_second_moment(problem))
    return (
        FittedFeatures(
            name=Estimator.TRIGONOMETRIC,
            features_per_projection=2,
            features=_waves,
            covariances=covariances(Estimator.TRIGONOMETRIC),
            powers=variance.trigonometric,
        ),
        FittedFeatures(
            name=Estimator.POSITIVE,
            features_per_projection=1,
            features=functools.partial(_without_growth, log_positive_features),
            covariances=covariances(Estimator.POSITIVE),
            powers=variance.positive,
        ),
        FittedFeatures(
            name=Estimator.HYPERBOLIC,
            features_per_projection=2,
            features=functools.partial(_without_growth, log_hyperbolic_features),
            covariances=covariances(Estimator.HYPERBOLIC),
            powers=variance.hyperbolic,
        ),
        FittedFeatures(
            name=Estimator.GENERALIZED,
            features_per_projection=1,
            features=lambda x, w: _without_growth(_log_generalized, x, w, a),
            covariances=lambda q, k: pair.covariances(Estimator.GENERALIZED, q, k, a=a),
            powers=lambda length: variance.generalized(length, width, a),
            parameter=f"a = {a:.3g}",
        ),
        FittedFeatures(
            name=Estimator.DENSE,
            features_per_projection=1,
            features=lambda x, w: _without_growth(_log_dense, x, w, jnp.asarray(spectrum), jnp.asarray(basis)),
            covariances=lambda q, k: pair.covariances(Estimator.GENERALIZED, q @ basis, k @ basis, a=spectrum),
            parameter=f"a from {spectrum.min():.3g} to {spectrum.max():.3g}",
        ),
    )


def _second_moment(problem: Problem) -> Float[np.ndarray, "d d"]:
    """The mean of (q + k)(q + k)^T over rows, and in each row over its pairs, weighted by their shares."""
    shares = problem.shares / len(problem.q)
    cross = problem.q.T @ shares @ problem.k
    of_queries = problem.q.T @ problem.q / len(problem.q)
    of_keys = (problem.k.T * np.sum(shares, axis=0)) @ problem.k
    moment = of_queries + of_keys + cross + cross.T
    return (moment + moment.T) / 2
