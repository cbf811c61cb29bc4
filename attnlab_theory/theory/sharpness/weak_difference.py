"""A weak query, and an even second map that takes the floor away (docs/mathematics/sharpness.md)."""

import functools
import math

import numpy as np

from attnlab_theory.theory.noisy_keys import best_query
from attnlab_theory.theory.noisy_keys.best_query import Query
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH
from attnlab_theory.theory.noisy_keys.two_heads import two_heads_error


def exact_lambda(n: int, beta: float, wanted: int) -> float:
    """n times the weight of an unwanted key, if `wanted` of n orthonormal keys score beta and all others 0.

    Source: docs/mathematics/sharpness.md#a-weak-difference-copies-exactly.
    """
    return n / (wanted * math.exp(beta) + n - wanted)


def miss_of_one_map(n: int, beta: float, wanted: int) -> float:
    """How far the weight of a wanted key is from one over `wanted` without the second map."""
    return 1 / wanted - math.exp(beta) / (wanted * math.exp(beta) + n - wanted)


@functools.cache
def hedging_moments(n: int, beta: float) -> tuple[float, float]:
    """Mean and variance of the squared error for the pair, if the first key is stretched and nothing else is noisy.

    The score of the stretched key is beta (1 + g / sqrt 2), that of the other wanted key beta, all others 0. One
    sum over g, in steps in which the weights turn slowly.

    Source: docs/mathematics/sharpness.md#a-weak-difference-hedges-half-way.
    """
    g = np.arange(-9.5, 9.5 + 1e-9, min(0.05, 0.1 / max(beta, 1.0)))
    chances = np.exp(-g * g / 2)
    chances /= chances.sum()
    first = np.exp(np.minimum(beta * STRETCH**0.5 * g, 600.0))
    second, others = np.ones_like(g), np.full_like(g, math.exp(-beta))
    normaliser = first + second + (n - 2) * others
    lam = exact_lambda(n, beta, 2)
    a, b, o = ((x / normaliser - lam / n) / (1 - lam) for x in (first, second, others))
    error = (a - 0.5) ** 2 + (b - 0.5) ** 2 + (n - 2) * o**2
    mean = float(chances @ error)
    return mean, float(chances @ (error - mean) ** 2)


def noise_moments(n: int, beta: float, wanted: int, variance: float) -> tuple[float, float]:
    """Mean and variance of the squared error, if all keys have isotropic noise of this variance.

    A query of `wanted` orthonormal means times beta makes scores of variance wanted beta^2 a. To first order the
    weights move by diag(alpha) - alpha alpha^T times the noise of the scores, over 1 - lambda.

    Source: docs/mathematics/sharpness.md#a-weak-difference-copies-exactly.
    """
    powers = np.where(np.arange(n) < wanted, math.exp(beta), 1.0)
    weights = powers / powers.sum()
    rest = 1 - exact_lambda(n, beta, wanted)
    moved = (np.diag(weights) - np.outer(weights, weights)) * beta * math.sqrt(wanted * variance) / rest
    covariance = moved @ moved.T
    return float(np.trace(covariance)), 2 * float(np.sum(covariance**2))


def noise_of_one_map(n: int, beta: float, wanted: int, variance: float) -> float:
    """The same error of one map, which nothing is divided by."""
    return noise_moments(n, beta, wanted, variance)[0] * (1 - exact_lambda(n, beta, wanted)) ** 2


def noise_of_weak_queries(n: int, wanted: int, variance: float) -> float:
    """The limit of the error as beta goes to 0: (n - 1) a / wanted."""
    return (n - 1) * variance / wanted


def hedging_error_of_weak_queries(n: int) -> float:
    """The limit of that error as beta goes to 0: (1 - 1/n) / 8."""
    return (1 - 1 / n) / 8


def hedging_error_at_the_best_lambda(n: int) -> float:
    """The limit with the lambda that errs least, AB / (4 (A + B)) with A = 2 - 4/n and B = (1 - 1/n) / 2."""
    a, b = 2 - 4 / n, (1 - 1 / n) / 2
    return a * b / (4 * (a + b))


def one_head_error(n: int, beta: float, variance: float) -> float:
    """The error of one head that asks beta (mu_a + mu_b)."""
    return best_query.query_error(n, variance, Query(beta, beta, 0.0))


@functools.cache
def least_one_head_error(n: int, variance: float) -> float:
    """The least error of one head in that direction, over its strength."""
    from scipy import optimize

    return float(
        optimize.minimize_scalar(lambda beta: one_head_error(n, beta, variance), bounds=(1.0, 6.0)).fun  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue, reportArgumentType]
    )


def two_averaged_heads_error(n: int, variance: float) -> float:
    """The error of two averaged heads that ask strongly for one key each."""
    return two_heads_error(n, 30.0, variance)
