"""Scores drawn instead of keys, for heads that read the same keys (docs/mathematics/noisy_keys.md)."""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores, attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import noise_factors, noisy_scores, score_law
from attnlab_theory.stats import Interval, known_variance, paired
from attnlab_theory.theory.noisy_keys import drawn_scores as theory


class WeightThreshold(Setting):
    """The event that both heads give key a at most this weight, on n keys of width d."""

    n: int
    d: int
    beta: Traced[float]
    variance: Traced[float]
    threshold: Traced[float]


class ScoresOfOneKey(Setting):
    """The scores that two heads give key `index` of n, of width d."""

    n: int
    d: int
    index: int
    beta: Traced[float]
    variance: Traced[float]


def _pair_of_queries(means: Float[Array, "s d"], setting: WeightThreshold | ScoresOfOneKey) -> Float[Array, "2 d"]:
    """beta (mu_a + mu_b) and beta mu_a: not orthogonal, so that their scores of key a are correlated."""
    return jnp.concatenate(
        [problem.ask_for_both(means, setting.beta), problem.ask_for_each(means, setting.beta)[:1]]
    )


def _both_doubt(weights: Float[Array, "t s"], setting: WeightThreshold) -> Float[Array, ""]:
    return jnp.where(jnp.max(weights[:, 0]) <= setting.threshold, 1.0, 0.0)


def _keys_minus_scores(key: PRNGKeyArray, setting: WeightThreshold, *, apart: bool) -> Float[Array, ""]:
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
    source="mathematics/noisy_keys.md#scores-can-stand-for-keys",
    hypotheses=problem.HYPOTHESES | {"0 < threshold < 1": lambda s: 0 < s.threshold < 1},
    predict=Interval.point(0.0),
    draw=functools.partial(_keys_minus_scores, apart=False),
    bound=paired(),
    resolution=lambda s: 0.45 * theory.both_doubt_more(s.n, s.beta, s.threshold),
    settings=tuple(
        WeightThreshold(n=16, d=16, beta=beta, variance=0.01, threshold=x)
        for beta in (4.0, 10.0)
        for x in THRESHOLDS
    ),
    rival=Rival[WeightThreshold](
        statement="With keys drawn in full, both heads give little weight more often than with drawn scores: as "
        "much more often as if each head's scores were drawn by themselves.",
        source="the claim without the correlation over heads, and without isotropic noise",
        predict=lambda s: Interval.point(theory.both_doubt_more(s.n, s.beta, s.threshold)),
    ),
)

DRAWN_APART = foil(
    SAME_LAW,
    name="heads-scores-may-be-drawn-apart",
    statement="Each head's scores may be drawn by themselves: heads that read the same noisy keys are independent.",
    source="mathematics/noisy_keys.md#scores-can-stand-for-keys, without the correlation over heads",
    draw=functools.partial(_keys_minus_scores, apart=True),
    settings=tuple(WeightThreshold(n=16, d=16, beta=10.0, variance=0.01, threshold=x) for x in (0.25, 0.5, 0.75)),
)


def _product_of_scores(key: PRNGKeyArray, setting: ScoresOfOneKey) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    queries = _pair_of_queries(means, setting)
    keys = problem.keys_around(key, means, setting.variance)
    noise = attention_scores(queries, keys - means, scale=1.0)[:, setting.index]
    return noise[0] * noise[1]


def _product_variance(setting: ScoresOfOneKey) -> float:
    covariance = theory.scores_covariance(setting.n, setting.beta, setting.variance, setting.index)
    # The float32 draws round a little above the variance of exact ones.
    return 1.001 * theory.product_variance(covariance[0, 0], covariance[1, 1], covariance[0, 1])


CORRELATED = Claim(
    name="two-heads-scores-of-one-key",
    statement=r"Two heads' scores of one key have covariance $q_1^T \Sigma_i q_2$.",
    source="mathematics/noisy_keys.md#scores-can-stand-for-keys",
    hypotheses=problem.HYPOTHESES | {"0 <= index < n": lambda s: 0 <= s.index < s.n},
    predict=lambda s: Interval.point(float(theory.scores_covariance(s.n, s.beta, s.variance, s.index)[0, 1])),
    draw=_product_of_scores,
    bound=lambda s: known_variance(_product_variance(s)),
    resolution=lambda s: 0.1 * math.sqrt(_product_variance(s)),
    settings=tuple(
        ScoresOfOneKey(n=16, d=16, index=index, beta=2.0, variance=variance)
        for index in (0, 2)
        for variance in (0.01, 0.3)
    ),
)

UNCORRELATED = foil(
    CORRELATED,
    name="two-heads-scores-are-uncorrelated",
    statement="Two heads' scores of one key are uncorrelated.",
    source="mathematics/noisy_keys.md#scores-can-stand-for-keys, without the correlation over heads",
    predict=Interval.point(0.0),
    stream=CORRELATED,
)

CLAIMS = (SAME_LAW, DRAWN_APART, CORRELATED, UNCORRELATED)
