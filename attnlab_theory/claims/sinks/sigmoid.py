"""Sigmoid attention with the shift -ln n: what its weights sum to (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import sigmoid_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.sinks import sigmoid as theory


class Sigmoids(Setting):
    """n independent scores N(0, spread^2), under the shift of n0 keys."""

    n: int
    n0: Traced[int]
    spread: Traced[float]


def _weights(key: PRNGKeyArray, setting: Sigmoids) -> Float[Array, " s"]:
    keys = jax.random.normal(key, (setting.n, 1))
    return sigmoid_weights(jnp.ones((1, 1)), keys, scale=setting.spread, shift=-jnp.log(setting.n0))[0]


def _sum(key: PRNGKeyArray, setting: Sigmoids) -> Float[Array, ""]:
    return jnp.sum(_weights(key, setting))


def _sum_of_squares(key: PRNGKeyArray, setting: Sigmoids) -> Float[Array, ""]:
    return jnp.sum(_weights(key, setting) ** 2)


def _mean(setting: Sigmoids) -> float:
    return theory.sum_of_powers(setting.n, setting.n0, setting.spread, 1)


LENGTHS = at_least(n=1, n0=1) | at_most(n=4096, n0=10**6, spread=6) | more_than(spread=0)

SUM = Claim(
    name="sigmoid-weights-do-not-sum-to-one",
    statement=r"With the shift $-\ln n_0$ sigmoid weights of $n$ independent scores $N(0, \sigma^2)$ sum to "
    r"$n\,E\,\sigma(\sigma g - \ln n_0)$ on average, which for $n = n_0 \to \infty$ tends to $e^{\sigma^2/2}$.",
    source="mathematics/sinks.md#sigmoid-weights-do-not-sum-to-one; Ramapuram et al. 2024",
    hypotheses=LENGTHS,
    predict=lambda s: Interval.point(_mean(s)),
    draw=_sum,
    bound=lambda s: known_variance(theory.sum_variance(s.n, s.n0, s.spread, 1)),
    resolution=lambda s: 0.4 * abs(_mean(s) - 1) + 1e-9,
    settings=(
        Sigmoids(n=64, n0=64, spread=1.0),
        Sigmoids(n=64, n0=64, spread=2.0),
        Sigmoids(n=1024, n0=1024, spread=1.0),
        Sigmoids(n=1024, n0=16, spread=1.0),
    ),
    rival=Rival(
        statement="They sum to one, as those of softmax.",
        source="Ramapuram et al. 2024, the shift of minus ln n read as a normaliser",
        predict=Interval.point(1.0),
    ),
    chunk=256,
)

NORMALISER = foil(
    SUM,
    name="minus-log-n-makes-weights-sum-to-one",
    statement="Under the shift of minus ln n sigmoid weights of random scores sum to one within a twentieth.",
    source="mathematics/sinks.md#sigmoid-weights-do-not-sum-to-one; Ramapuram et al. 2024, the shift read as a "
    "normaliser, which it is where all scores are near zero",
    predict=Interval(0.95, 1.05),
    settings=SUM.settings[:2],
)

ANY_LENGTH = foil(
    SUM,
    name="without-a-normaliser-length-does-not-matter",
    statement="Sigmoid weights learned at 16 keys sum at 1024 keys to what they sum to at 16.",
    source="mathematics/sinks.md#sigmoid-weights-do-not-sum-to-one, no sum over keys read as no dependence on them",
    predict=lambda s: Interval.point(theory.sum_of_powers(int(s.n0), s.n0, s.spread, 1)),
    settings=(Sigmoids(n=1024, n0=16, spread=1.0),),
)


def _squares(setting: Sigmoids) -> float:
    return theory.sum_of_powers(setting.n, setting.n0, setting.spread, 2)


STRONGER = Claim(
    name="sigmoid-output-is-stronger",
    statement=r"Over independent values of unit variance the output of sigmoid attention has the variance "
    r"$n\,E\,\sigma(\sigma g - \ln n)^2$, more than twice that of softmax among 64 keys of spread 1.",
    source="mathematics/sinks.md#sigmoid-output-is-stronger; Ramapuram et al. 2024",
    hypotheses=LENGTHS | {"n0 = n": lambda s: s.n0 == s.n},
    predict=lambda s: Interval.point(_squares(s)),
    draw=_sum_of_squares,
    bound=lambda s: known_variance(theory.sum_variance(s.n, s.n0, s.spread, 2)),
    resolution=lambda s: 0.4 * abs(_squares(s) - theory.softmax_participation(s.n, s.spread)) + 1e-9,
    settings=SUM.settings[:3],
    rival=Rival(
        statement="The variance is that of softmax over the same scores.",
        source="Ramapuram et al. 2024, the shift read as a normaliser",
        predict=lambda s: Interval.point(theory.softmax_participation(s.n, s.spread)),
    ),
    stream=SUM,
    chunk=256,
)

LONG_TEXTS = foil(
    STRONGER,
    name="sigmoid-output-is-e-to-the-variance-times-stronger",
    statement=r"Among 64 keys the variance is $e^{\sigma^2}$ times that of softmax.",
    source="mathematics/sinks.md#sigmoid-output-is-stronger, the limit of long texts taken for 64 keys",
    predict=lambda s: Interval.point(theory.participation_of_long_texts(s.n, s.spread)),
    settings=SUM.settings[:2],
)

CLAIMS = (SUM, NORMALISER, ANY_LENGTH, STRONGER, LONG_TEXTS)
