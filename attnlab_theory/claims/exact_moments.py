"""Moments of the weights under any covariances; keys and scores sampled in law alike (claims D.6)."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores, attention_weights
from attnlab_theory.claims import stretched_key as problem
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.sampling import gaussian_keys, noise_factors, noisy_scores, score_law
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded, known_variance
from attnlab_theory.theory import any_covariance, key_noise

SOURCE = "claims D.6"
POWERS = ((1.0, 0.0), (2.0, 0.0), (1.0, 1.0))
"""E[alpha_a], E[alpha_a^2], E[alpha_a alpha_b]."""


@dataclasses.dataclass(frozen=True)
class Moment:
    """E[alpha_a^power_a alpha_b^power_b], a and b the first of n keys of width d, for a query of strength beta."""

    n: int
    d: int
    beta: float
    variance: float
    power_a: float
    power_b: float


@dataclasses.dataclass(frozen=True)
class Threshold:
    """The event that both heads give key a at most this weight, on n keys of width d."""

    n: int
    d: int
    beta: float
    variance: float
    threshold: float


@dataclasses.dataclass(frozen=True)
class OneKey:
    """The scores that two heads give key `index` of n, of width d."""

    n: int
    d: int
    index: int
    beta: float
    variance: float


def _monomial(weights: Float[Array, " s"], setting: Moment) -> Float[Array, ""]:
    return weights[0] ** setting.power_a * weights[1] ** setting.power_b


def _monomial_resolution(setting: Moment, laws: tuple[np.ndarray, np.ndarray]) -> float:
    """A tenth of the monomial's own deviation: what 2**15 draws can see without their mirror images."""
    return 0.1 * math.sqrt(_moment(laws, setting, 2) - _moment(laws, setting) ** 2) + 0.002


def _moment(laws: tuple[np.ndarray, np.ndarray], setting: Moment, times: int = 1) -> float:
    powers = [0] * setting.n
    powers[0], powers[1] = times * round(setting.power_a), times * round(setting.power_b)
    return key_noise.weight_moment(*laws, powers)


def _stretched_moment(key: PRNGKeyArray, setting: Moment) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance)
    query = problem.ask_for_both(means, setting.beta)
    # Keys and their mirror images in the means have one law, and the one loses what the other wins: in the mean of
    # the two alpha_a^2 varies three to nine times less from beta = 4 on.
    here, mirrored = (
        _monomial(attention_weights(query, each, scale=1.0)[0], setting) for each in (keys, 2 * means - keys)
    )
    return (here + mirrored) / 2


def _stretched_laws(setting: Moment) -> tuple[np.ndarray, np.ndarray]:
    query = setting.beta * np.eye(setting.n)[:2].sum(axis=0)
    stretch = problem.STRETCH * np.eye(setting.n)[0]
    return key_noise.score_laws(query, np.eye(setting.n), variance=setting.variance, stretch=stretch)


STRETCHED = Claim(
    name="moments-with-a-stretched-key",
    statement=r"With one key stretched, $\mathbb{E}[\alpha_a] = \int_0^\infty \mathbb{E}[e^{z_a} e^{-t e^{z_a}}] "
    r"\prod_{i \neq a} \mathbb{E}[e^{-t e^{z_i}}]\,dt$, and likewise the second moments.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(_moment(_stretched_laws(s), s)),
    draw=_stretched_moment,
    bound=lambda s: bounded(0.0, 1.0001),
    resolution=lambda s: min(_monomial_resolution(s, _stretched_laws(s)), 0.01),
    settings=tuple(
        Moment(16, 16, beta, 1e-4, *powers) for powers in POWERS for beta in (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
    ),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)


STRONG = dataclasses.replace(
    STRETCHED,
    name="second-moment-of-a-strong-query",
    statement=r"At $\beta = 32$ and $a = 0$, one key of sixteen stretched, $\mathbb{E}[\alpha_a^2]$ is 0.4824, its "
    "integral.",
    resolution=lambda s: 0.004,
    settings=(Moment(16, 16, 32.0, 0.0, 2.0, 0.0),),
)


def _by_gauss_hermite(setting: Moment) -> float:
    """E[alpha_a^2] at a = 0 with 200 nodes over the stretch, too few for the step that alpha_a is in it."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    rest = np.logaddexp(setting.beta, math.log(setting.n - 2))
    share = scipy.special.expit(setting.beta * (1 + math.sqrt(problem.STRETCH) * nodes) - rest)
    return float(weights @ share**2 / np.sum(weights))


GAUSS_HERMITE = dataclasses.replace(
    STRONG,
    name="second-moment-by-gauss-hermite",
    statement=r"At $\beta = 32$ and $a = 0$, one key of sixteen stretched, $\mathbb{E}[\alpha_a^2]$ is the 0.4877 "
    "of Gauss-Hermite quadrature with 200 nodes.",
    source="claims D.6 as first computed",
    hypotheses={**problem.HYPOTHESES, "a = 0": lambda s: s.variance == 0},
    predict=lambda s: Interval.point(_by_gauss_hermite(s)),
    expect=Verdict.REFUTED,
)


@functools.cache
def _any_problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A query, means and covariance factors with nothing in common: no key is like another, none is isotropic."""
    # Drawn while a sampler is compiled, these too would otherwise be traced.
    with jax.ensure_compile_time_eval():
        query, means, factors, sizes = (
            np.asarray(jax.random.normal(key_for(0, "any-covariances", name), shape, jnp.float32))
            for name, shape in {"query": (d,), "means": (n, d), "factors": (n, d, d), "sizes": (n,)}.items()
        )
    # Scores of size one and deviations from a tenth to one, so that no key is out of the race.
    factors = factors * (np.exp(sizes) / (2 * d))[:, None, None]
    return query / np.linalg.norm(query), means, factors


def _any_moment(key: PRNGKeyArray, setting: Moment) -> Float[Array, ""]:
    query, means, factors = (jnp.asarray(array, float) for array in _any_problem(setting.n, setting.d))
    keys = gaussian_keys(key, means, jnp.sqrt(jnp.asarray(setting.variance, factors.dtype)) * factors)
    queries = jnp.asarray(setting.beta, query.dtype) * query[None]
    return _monomial(attention_weights(queries, keys, scale=1.0)[0], setting)


def _any_laws(setting: Moment) -> tuple[np.ndarray, np.ndarray]:
    query, means, factors = (array.astype(np.float64) for array in _any_problem(setting.n, setting.d))
    covariances = setting.variance * np.einsum("sdm,sem->sde", factors, factors)
    return any_covariance.score_laws(setting.beta * query, means, covariances)


ANY = Claim(
    name="moments-under-any-covariances",
    statement=r"For any means and any covariances, one for each key, the moments of the weights are those of "
    r"independent scores $z_i \sim N(\mu_i \cdot q, q^T \Sigma_i q)$.",
    source=SOURCE,
    hypotheses={"beta > 0": lambda s: s.beta > 0, "variance >= 0": lambda s: s.variance >= 0},
    predict=lambda s: Interval.point(_moment(_any_laws(s), s)),
    draw=_any_moment,
    bound=lambda s: bounded(0.0, 1.0001),
    resolution=lambda s: _monomial_resolution(s, _any_laws(s)),
    settings=tuple(Moment(6, 8, beta, 1.0, *powers) for powers in POWERS for beta in (0.5, 1.0, 2.0, 4.0)),
)


def _noiseless(setting: Moment) -> float:
    means, variances = _any_laws(setting)
    return _moment((means, 0 * variances), setting)


AVERAGES_OUT = dataclasses.replace(
    ANY,
    name="noise-of-mean-zero-averages-out",
    statement=r"Noise of mean zero leaves the moments of the weights alone: they are those of "
    r"$\mathrm{softmax}(\mathbb{E}[z])$.",
    source="claims D.6 with the noise removed",
    predict=lambda s: Interval.point(_noiseless(s)),
    # As many settings as the claim it mocks: the compiled draw is shared.
    settings=tuple(Moment(6, 8, beta, 1.0, *powers) for powers in POWERS for beta in (1.0, 2.0, 4.0, 8.0)),
    expect=Verdict.REFUTED,
)


def _pair_of_queries(means: Float[Array, "s d"], setting: Threshold | OneKey) -> Float[Array, "2 d"]:
    """beta (mu_a + mu_b) and beta mu_a: not orthogonal, so that their scores of key a are correlated."""
    return jnp.concatenate(
        [problem.ask_for_both(means, setting.beta), problem.ask_for_each(means, setting.beta)[:1]]
    )


def _both_doubt(weights: Float[Array, "t s"], setting: Threshold) -> Float[Array, ""]:
    return jnp.where(jnp.max(weights[:, 0]) <= setting.threshold, 1.0, 0.0)


def _keys_minus_scores(key: PRNGKeyArray, setting: Threshold, *, apart: bool) -> Float[Array, ""]:
    by_keys, by_scores = jax.random.split(key)
    means = problem.means_of(setting.n, setting.d)
    queries = _pair_of_queries(means, setting)
    weights = attention_weights(queries, problem.keys_around(by_keys, means, setting.variance), scale=1.0)
    stretch = jnp.where(jnp.arange(setting.n) < 1, problem.STRETCH, 0.0).astype(means.dtype)
    factors = noise_factors(means, variance=setting.variance, stretch=stretch)
    asked = [queries[:1], queries[1:]] if apart else [queries]
    drawn = [
        noisy_scores(jax.random.fold_in(by_scores, i), score_law(q, means, factors), 1)[:, :, 0]
        for i, q in enumerate(asked)
    ]
    return _both_doubt(weights, setting) - _both_doubt(jax.nn.softmax(jnp.concatenate(drawn), axis=-1), setting)


THRESHOLDS = (0.05, 0.25, 0.5, 0.75, 0.95)

SAME_LAW = Claim(
    name="scores-stand-for-keys",
    statement=r"Scores drawn from their joint law over the heads, $N(Q\mu_i, Q\Sigma_i Q^T)$ for each key, give "
    "weights of the same law as keys drawn in full.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(0.0),
    draw=functools.partial(_keys_minus_scores, apart=False),
    bound=lambda s: bounded(-1.0, 1.0),
    resolution=lambda s: 0.06,
    settings=tuple(Threshold(16, 16, beta, 0.01, x) for beta in (4.0, 10.0) for x in THRESHOLDS),
)

DRAWN_APART = dataclasses.replace(
    SAME_LAW,
    name="heads-scores-may-be-drawn-apart",
    statement="Each head's scores may be drawn by themselves: heads that read the same noisy keys are independent.",
    source="claims D.6 without the correlation over heads",
    draw=functools.partial(_keys_minus_scores, apart=True),
    settings=tuple(Threshold(16, 16, 10.0, 0.01, x) for x in (0.25, 0.5, 0.75)),
    expect=Verdict.REFUTED,
)


def _product_of_scores(key: PRNGKeyArray, setting: OneKey) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    queries = _pair_of_queries(means, setting)
    keys = problem.keys_around(key, means, setting.variance)
    noise = attention_scores(queries, keys - means, scale=1.0)[:, setting.index]
    return noise[0] * noise[1]


def _scores_covariance(setting: OneKey) -> np.ndarray:
    """Of the two heads' scores of one key."""
    mean = np.eye(setting.n)[setting.index]
    stretch = problem.STRETCH if setting.index == 0 else 0.0
    covariance = any_covariance.stretched_covariance(mean, variance=setting.variance, stretch=stretch)
    queries = setting.beta * np.array([[1.0, 1.0], [1.0, 0.0]]) @ np.eye(setting.n)[:2]
    return queries @ covariance @ queries.T


def _product_variance(setting: OneKey) -> float:
    covariance = _scores_covariance(setting)
    # The float32 draws round a little above the variance of exact ones.
    return 1.001 * any_covariance.product_variance(covariance[0, 0], covariance[1, 1], covariance[0, 1])


CORRELATED = Claim(
    name="two-heads-scores-of-one-key",
    statement=r"Two heads' scores of one key have covariance $q_1^T \Sigma_i q_2$.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(float(_scores_covariance(s)[0, 1])),
    draw=_product_of_scores,
    bound=lambda s: known_variance(_product_variance(s)),
    resolution=lambda s: 0.1 * math.sqrt(_product_variance(s)),
    settings=tuple(OneKey(16, 16, index, 2.0, variance) for index in (0, 2) for variance in (0.01, 0.3)),
)

UNCORRELATED = dataclasses.replace(
    CORRELATED,
    name="two-heads-scores-are-uncorrelated",
    statement="Two heads' scores of one key are uncorrelated.",
    source="claims D.6 without the correlation over heads",
    predict=lambda s: Interval.point(0.0),
    expect=Verdict.REFUTED,
)

CLAIMS = (
    STRETCHED,
    STRONG,
    GAUSS_HERMITE,
    ANY,
    AVERAGES_OUT,
    SAME_LAW,
    DRAWN_APART,
    CORRELATED,
    UNCORRELATED,
)
