"""Generalized exponential features whose variance is infinite are unbiased, and more projections hardly help.

See docs/mathematics/features.md.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import generalized_exponential_features, log_generalized_exponential_features
from attnlab_theory.claims.claim import Claim, Rival, exact_claim
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.features import infinite_variance as theory

SOURCE = "mathematics/features.md#where-the-variance-is-infinite; Likhosherstov et al. 2022"
HYPOTHESES = {
    "1/8 <= a < 1/4: a mean and no variance": lambda s: 0.125 <= s.a < 0.25,
    "L >= 0": lambda s: s.sum_square >= 0,
} | at_most(a=0.24, sum_square=2)
"""A projection so large that features leave the range of float32 is then rarer than any draw."""
TOLERANCE = 0.1
START = 16
"""The number of projections from which the rival law starts."""


class HeavyProduct(Setting):
    """One product of generalized exponential features of two equal points on a line, |x + y|^2 = sum_square."""

    a: float
    sum_square: float


WIDEST, NODES = 45.0, 20_001


def _mean_by_quadrature(key: PRNGKeyArray, setting: HeavyProduct) -> float:
    """The integral of the operator's products over all projections, divided by exp(x . y)."""
    w = np.linspace(-WIDEST, WIDEST, NODES)
    x = jnp.full((1, 1), setting.sum_square**0.5 / 2)
    log_features = log_generalized_exponential_features(x, jnp.asarray(w[:, None], x.dtype), a=setting.a)
    # The features of m projections are divided by sqrt(m), and so each product by m.
    exponent = 2 * np.asarray(log_features[0], np.float64) + np.log(NODES) - w**2 / 2
    return float(np.trapezoid(np.exp(exponent), w) / np.sqrt(2 * np.pi) / np.exp(setting.sum_square / 4))


MEAN = exact_claim(
    name="features-without-variance-are-unbiased",
    statement=r"Generalized exponential features with $1/8 \leq A < 1/4$ have infinite variance and estimate "
    r"$e^{x \cdot y}$ without bias.",
    source=f"{SOURCE}; practical4/3h.1",
    hypotheses=HYPOTHESES,
    predict=Interval.point(1.0),
    draw=_mean_by_quadrature,
    # Exponents up to 500, rounded in float32 and weighted; the range leaves out less than exp(-20).
    rounding=1e-3,
    settings=tuple(HeavyProduct(a=a, sum_square=square) for a in (0.125, 0.15, 0.2, 0.24) for square in (0.5, 2.0)),
    rival=Rival[HeavyProduct](
        statement="They are biased by the factor of one of the two points.",
        source=r"one factor (1 - 4A)^{1/4} left out",
        predict=lambda s: Interval.point((1 - 4 * s.a) ** -0.25),
    ),
)


class HeavyMean(Setting):
    """The mean of the first m of `projections` products, each as in `HeavyProduct`."""

    a: Traced[float]
    sum_square: Traced[float]
    projections: int
    m: Traced[int]


def _is_far_off(key: PRNGKeyArray, setting: HeavyMean) -> Float[Array, ""]:
    w = gaussian_projection(key, setting.projections, 1)
    x = jnp.sqrt(jnp.asarray(setting.sum_square, w.dtype))[None, None] / 2
    products = setting.projections * generalized_exponential_features(x, w, a=jnp.asarray(setting.a))[0] ** 2
    kept = jnp.arange(float(setting.projections)) < jnp.asarray(setting.m, float)
    counted = jnp.where(kept, products, 0.0)
    found = jnp.sum(counted) / jnp.asarray(setting.m, w.dtype) / jnp.exp(jnp.asarray(setting.sum_square) / 4)
    return jnp.where(jnp.abs(found - 1) > TOLERANCE, 1.0, 0.0)


@functools.cache
def _chance(setting: HeavyMean) -> float:
    return theory.chance_of_error(setting.sum_square, setting.a, setting.m, TOLERANCE)


def _root_law(setting: HeavyMean) -> Interval:
    return Interval.point(
        theory.chance_if_root_law(setting.sum_square, setting.a, setting.m, TOLERANCE, start=START)
    )


CHANCE = Claim(
    name="error-chance-without-variance",
    statement="With $1/8 < A < 1/4$ for the parameter $A$ of the features, the chance of an error over 10 % falls "
    "more slowly in $m$ than for an error of order $m^{-1/2}$, and at $A = 0.24$ hardly at all.",
    source=f"{SOURCE}; Gil-Pelaez 1951",
    hypotheses=HYPOTHESES | at_least(m=8) | {"m <= projections": lambda s: s.m <= s.projections},
    predict=lambda s: Interval.around(_chance(s), theory.CHANCE_ERROR),
    draw=_is_far_off,
    bound=proportion(),
    resolution=lambda s: min(0.05, 0.45 * (_chance(s) - _root_law(s).high)),
    settings=tuple(
        HeavyMean(a=a, sum_square=0.5, projections=1024, m=m) for a in (0.15, 0.2, 0.24) for m in (64, 256, 1024)
    ),
    rival=Rival[HeavyMean](
        statement=r"Errors are normal and fall as $m^{-1/2}$.",
        source=f"the law of features with a variance, from the chance at m = {START}",
        predict=_root_law,
    ),
    chunk=128,
)

CLAIMS = (MEAN, CHANCE)
