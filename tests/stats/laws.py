"""Laws to sample draws from, their means and variances known."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Law(NamedTuple):
    """A law of known mean and variance."""

    sample: Callable
    mean: float
    variance: float


def coin(p: float, low: float = 0.0, high: float = 1.0) -> Law:
    return Law(
        lambda rng, shape: np.where(rng.random(shape) < p, high, low),
        low + p * (high - low),
        p * (1 - p) * (high - low) ** 2,
    )


def beta(a: float, b: float) -> Law:
    return Law(lambda rng, shape: rng.beta(a, b, shape), a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1)))


def uniform(low: float, high: float) -> Law:
    return Law(lambda rng, shape: rng.uniform(low, high, shape), (low + high) / 2, (high - low) ** 2 / 12)


def student(freedom: float) -> Law:
    return Law(lambda rng, shape: rng.standard_t(freedom, shape), 0.0, freedom / (freedom - 2))


def log_normal(sigma: float) -> Law:
    mean = math.exp(sigma**2 / 2)
    return Law(lambda rng, shape: rng.lognormal(0.0, sigma, shape), mean, mean**2 * math.expm1(sigma**2))


def gauss(mean: float, sigma: float) -> Law:
    return Law(lambda rng, shape: rng.normal(mean, sigma, shape), mean, sigma**2)
