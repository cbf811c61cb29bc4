"""Moments of the weights under any covariances (docs/mathematics/noisy_keys.md)."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, more_than
from attnlab_theory.claims.noisy_keys import one_head
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_keys
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Bound, Interval, bounded
from attnlab_theory.theory.noisy_keys import moments as theory

POWERS = ((1, 0), (2, 0), (1, 1))
"""E[alpha_a], E[alpha_a^2], E[alpha_a alpha_b]."""


FIRST_OR_SECOND = {"a moment of the list": lambda s: (s.power_a, s.power_b) in POWERS}


class WeightMoment(Setting):
    """E[alpha_a^power_a alpha_b^power_b], a and b the first of n keys of width d, for a query of strength beta."""

    n: int
    d: int
    beta: Traced[float]
    variance: Traced[float]
    power_a: Traced[int]
    power_b: Traced[int]


def _monomial(weights: Float[Array, " s"], setting: WeightMoment) -> Float[Array, ""]:
    return weights[0] ** setting.power_a * weights[1] ** setting.power_b


def _monomial_resolution(setting: WeightMoment, laws: tuple[np.ndarray, np.ndarray]) -> float:
    """A tenth of the monomial's standard deviation: what 2**15 draws can tell without their mirror images."""
    return 0.1 * math.sqrt(_moment(laws, setting, 2) - _moment(laws, setting) ** 2) + 0.002


def _moment(laws: tuple[np.ndarray, np.ndarray], setting: WeightMoment, times: int = 1) -> float:
    powers = [0] * setting.n
    powers[0], powers[1] = times * setting.power_a, times * setting.power_b
    return theory.weight_moment(*laws, powers)


def _stretched_moment(key: PRNGKeyArray, setting: WeightMoment) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance)
    query = problem.ask_for_both(means, setting.beta)
    # Keys and their mirror images in the means have the same distribution. Where one gives key a more weight, the
    # other gives it less. So the mean of the two alpha_a^2 varies three to nine times less from beta = 4 on.
    here, mirrored = (
        _monomial(attention_weights(query, each, scale=1.0)[0], setting) for each in (keys, 2 * means - keys)
    )
    return (here + mirrored) / 2


def _stretched_laws(setting: WeightMoment) -> tuple[np.ndarray, np.ndarray]:
    query = setting.beta * np.eye(setting.n)[:2].sum(axis=0)
    stretch = problem.STRETCH * np.eye(setting.n)[0]
    return theory.score_laws(query, np.eye(setting.n), variance=setting.variance, stretch=stretch)


def _of_mean_exponentials(laws: tuple[np.ndarray, np.ndarray], setting: WeightMoment) -> float:
    """The monomial of the weights E[e^{z_i}] / sum_j E[e^{z_j}]."""
    weights = scipy.special.softmax(laws[0] + laws[1] / 2)
    return float(weights[0] ** setting.power_a * weights[1] ** setting.power_b)


def _range(setting: WeightMoment) -> Bound:
    """Weights lie in [0, 1], and the product of two is at most a quarter; the rest is rounding."""
    return bounded(0.0, 0.2501 if setting.power_b else 1.0001)


def _stretched_rival(setting: WeightMoment) -> float:
    return _of_mean_exponentials(_stretched_laws(setting), setting)


def _stretched_resolution(setting: WeightMoment) -> float:
    predicted = _moment(_stretched_laws(setting), setting)
    return min(0.01, 0.45 * abs(predicted - _stretched_rival(setting)))


STRETCHED = Claim(
    name="moments-with-a-stretched-key",
    statement=r"With one key stretched, $\mathbb{E}[\alpha_a] = \int_0^\infty \mathbb{E}[e^{z_a} e^{-t e^{z_a}}] "
    r"\prod_{i \neq a} \mathbb{E}[e^{-t e^{z_i}}]\,dt$, and likewise the second moments.",
    source="mathematics/noisy_keys.md#exact-moments-of-the-weights",
    hypotheses=problem.HYPOTHESES | FIRST_OR_SECOND,
    predict=lambda s: Interval.point(_moment(_stretched_laws(s), s)),
    draw=_stretched_moment,
    bound=_range,
    resolution=_stretched_resolution,
    settings=tuple(
        WeightMoment(n=16, d=16, beta=beta, variance=1e-4, power_a=a, power_b=b)
        for a, b in POWERS
        for beta in (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
    ),
    rival=Rival[WeightMoment](
        statement=r"They are those of the weights $\mathbb{E}[e^{z_i}]/\sum_j\mathbb{E}[e^{z_j}]$.",
        source="a ratio's mean, taken for the ratio of the means",
        predict=lambda s: Interval.point(_stretched_rival(s)),
    ),
    stream=one_head.SHARE_LAW,
    chunk=problem.CHUNK,
)


STRONG = dataclasses.replace(
    STRETCHED,
    name="second-moment-of-a-strong-query",
    statement=r"Without noise, with one of two asked keys among sixteen stretched, the mean squared weight of the "
    r"stretched key from $\beta = 32$ on is an integral over its length: 0.4824 at $\beta = 32$.",
    source="mathematics/noisy_keys.md#exact-moments-of-the-weights",
    hypotheses={
        **problem.HYPOTHESES,
        "n = 16": lambda s: s.n == 16,
        "a = 0": lambda s: s.variance == 0,
        "beta >= 32": lambda s: s.beta >= 32,
        "E[alpha_a^2]": lambda s: (s.power_a, s.power_b) == (2, 0),
    },
    # With its mirror image alpha_a is almost 1 - alpha_a, and the mean of their squares lies in [1/4, 1/2].
    bound=bounded(0.2499, 0.5001),
    resolution=lambda s: 0.45 * (_by_gauss_hermite(s) - _moment(_stretched_laws(s), s)),
    settings=tuple(
        WeightMoment(n=16, d=16, beta=beta, variance=0.0, power_a=2, power_b=0) for beta in (32.0, 40.0, 48.0, 64.0)
    ),
    rival=None,
    stated={"beta": 32.0},
)


def _by_gauss_hermite(setting: WeightMoment) -> float:
    """E[alpha_a^2] at a = 0 with 200 nodes over the stretch. They are too few, because alpha_a is nearly a step
    function of the stretch."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    rest = np.logaddexp(setting.beta, math.log(setting.n - 2))
    share = scipy.special.expit(setting.beta * (1 + math.sqrt(problem.STRETCH) * nodes) - rest)
    return float(weights @ share**2 / np.sum(weights))


GAUSS_HERMITE = foil(
    STRONG,
    name="second-moment-by-gauss-hermite",
    statement=r"From $\beta = 32$ on at $a = 0$, one key of sixteen stretched, $\mathbb{E}[\alpha_a^2]$ is what "
    "Gauss-Hermite quadrature with 200 nodes gives: 0.4877 at 32.",
    source="mathematics/noisy_keys.md#exact-moments-of-the-weights, as first computed",
    predict=lambda s: Interval.point(_by_gauss_hermite(s)),
)


@functools.cache
def _any_problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random query, means and covariance factors: keys differ in distribution, and none is isotropic."""
    # Without this line the arrays would be traced if a sampler is being compiled.
    with jax.ensure_compile_time_eval():
        query, means, factors, sizes = (
            np.asarray(jax.random.normal(key_for(0, "any-covariances", name), shape, jnp.float32))
            for name, shape in {"query": (d,), "means": (n, d), "factors": (n, d, d), "sizes": (n,)}.items()
        )
    # Scores of size one and deviations from a tenth to one, so that every key gets some weight.
    factors = factors * (np.exp(sizes) / (2 * d))[:, None, None]
    return query / np.linalg.norm(query), means, factors


def _any_moment(key: PRNGKeyArray, setting: WeightMoment) -> Float[Array, ""]:
    query, means, factors = (jnp.asarray(array, float) for array in _any_problem(setting.n, setting.d))
    keys = gaussian_keys(key, means, jnp.sqrt(jnp.asarray(setting.variance, factors.dtype)) * factors)
    queries = jnp.asarray(setting.beta, query.dtype) * query[None]
    return _monomial(attention_weights(queries, keys, scale=1.0)[0], setting)


def _any_laws(setting: WeightMoment) -> tuple[np.ndarray, np.ndarray]:
    query, means, factors = (array.astype(np.float64) for array in _any_problem(setting.n, setting.d))
    covariances = setting.variance * np.einsum("sdm,sem->sde", factors, factors)
    return theory.score_laws_from_covariances(setting.beta * query, means, covariances)


ANY = Claim(
    name="moments-under-any-covariances",
    statement=r"For any means and any covariances, one for each key, the moments of the weights are those of "
    r"independent scores $z_i \sim N(\mu_i \cdot q, q^T \Sigma_i q)$.",
    source="mathematics/noisy_keys.md#exact-moments-of-the-weights",
    hypotheses=at_least(n=2, d=1) | more_than(beta=0, variance=0) | FIRST_OR_SECOND,
    predict=lambda s: Interval.point(_moment(_any_laws(s), s)),
    draw=_any_moment,
    bound=_range,
    resolution=lambda s: min(
        _monomial_resolution(s, _any_laws(s)),
        0.45 * abs(_moment(_any_laws(s), s) - _of_mean_exponentials(_any_laws(s), s)),
    ),
    settings=tuple(
        WeightMoment(n=6, d=8, beta=beta, variance=1.0, power_a=a, power_b=b)
        for a, b in POWERS
        for beta in (0.5, 1.0, 2.0, 4.0)
    ),
    rival=Rival[WeightMoment](
        statement=r"They are those of the weights $\mathbb{E}[e^{z_i}]/\sum_j\mathbb{E}[e^{z_j}]$.",
        source="a ratio's mean, taken for the ratio of the means",
        predict=lambda s: Interval.point(_of_mean_exponentials(_any_laws(s), s)),
    ),
)


def _noiseless(setting: WeightMoment) -> float:
    means, variances = _any_laws(setting)
    return _moment((means, 0 * variances), setting)


AVERAGES_OUT = foil(
    ANY,
    name="noise-of-mean-zero-averages-out",
    statement=r"Noise of mean zero leaves the moments of the weights alone: they are those of "
    r"$\mathrm{softmax}(\mathbb{E}[z])$.",
    source="mathematics/noisy_keys.md#exact-moments-of-the-weights, with the noise removed",
    predict=lambda s: Interval.point(_noiseless(s)),
    # As many settings as the claim it contradicts: both then share one compiled draw.
    settings=tuple(
        WeightMoment(n=6, d=8, beta=beta, variance=1.0, power_a=a, power_b=b)
        for a, b in POWERS
        for beta in (1.0, 2.0, 4.0, 8.0)
    ),
)


CLAIMS = (STRETCHED, STRONG, GAUSS_HERMITE, ANY, AVERAGES_OUT)
