"""How many keys share the weight over random scores (docs/mathematics/sharpness.md)."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sharpness import participation as theory

MOST_KEYS = 1024


class RandomScores(Setting):
    """n independent scores N(0, spread^2)."""

    n: Traced[int]
    spread: Traced[float]


def _weights(key: PRNGKeyArray, setting: RandomScores) -> Float[Array, " s"]:
    keys = jax.random.normal(key, (MOST_KEYS, 1))
    seen = jnp.arange(MOST_KEYS, dtype=float)[None, :] < setting.n
    return attention_weights(jnp.ones((1, 1)), keys, seen, scale=setting.spread)[0]


def _participation(key: PRNGKeyArray, setting: RandomScores) -> Float[Array, ""]:
    return jnp.sum(_weights(key, setting) ** 2)


def _entropy(key: PRNGKeyArray, setting: RandomScores) -> Float[Array, ""]:
    return jnp.sum(jax.scipy.special.entr(_weights(key, setting)))


SCORES = at_least(n=2) | at_most(n=MOST_KEYS, spread=6) | more_than(spread=0)

SHARED = Claim(
    name="participation",
    statement=r"Over $n$ independent scores $N(0, \sigma^2)$ the squares of the weights sum to "
    r"$n\int u\,L_2(u)\,L(u)^{n-1}\,du$ on average, $L_k(u) = E\,e^{k\sigma g - ue^{\sigma g}}$.",
    source="mathematics/sharpness.md#how-many-keys-share-the-weight",
    hypotheses=SCORES,
    predict=lambda s: Interval.point(theory.participation(int(s.n), s.spread)),
    draw=_participation,
    bound=bounded(0.0, 1.001),
    resolution=lambda s: min(
        0.02, 0.4 * abs(theory.participation(int(s.n), s.spread) - theory.log_normal_participation(s.n, s.spread))
    ),
    settings=(
        RandomScores(n=64, spread=1.0),
        *(RandomScores(n=n, spread=2.0) for n in (16, 64, 256)),
        *(RandomScores(n=n, spread=3.0) for n in (16, 64, 256, 1024)),
    ),
    rival=Rival(
        statement=r"They sum to $e^{\sigma^2}/n$, or to one where that is more.",
        source="log-normal calculus: both sums of powers replaced by their means",
        predict=lambda s: Interval.point(theory.log_normal_participation(s.n, s.spread)),
    ),
)

SHARES = foil(
    SHARED,
    name="n-exp-minus-sigma-squared-keys-share",
    statement=r"At a spread of 2 the weight is shared by $ne^{-4}$ keys, 1.2 of 64 and 4.7 of 256.",
    source="mathematics/sharpness.md#how-many-keys-share-the-weight, log-normal calculus",
    predict=lambda s: Interval.point(theory.log_normal_participation(s.n, s.spread)),
    settings=SHARED.settings[2:4],
)


def _mean_entropy(setting: RandomScores) -> float:
    return theory.entropy(int(setting.n), setting.spread)


ENTROPY = Claim(
    name="entropy-of-gaussian-scores",
    statement=r"The weights have the mean entropy $\int(e^{-u} - L(u)^n)\,du/u - \sigma^2(1 - E\sum\alpha_i^2)$.",
    source="mathematics/sharpness.md#the-entropy-of-random-scores",
    hypotheses=SCORES,
    predict=lambda s: Interval.point(_mean_entropy(s)),
    draw=_entropy,
    bound=lambda s: bounded(-0.001, math.log(s.n) + 0.001),
    resolution=lambda s: 0.4 * abs(_mean_entropy(s) - theory.log_normal_entropy(s.n, s.spread)),
    settings=(
        RandomScores(n=16, spread=1.0),
        RandomScores(n=64, spread=1.5),
        RandomScores(n=256, spread=2.0),
        RandomScores(n=64, spread=2.5),
        RandomScores(n=1024, spread=2.5),
    ),
    rival=Rival(
        statement=r"The entropy is $\ln n - \sigma^2/2$.",
        source="log-normal calculus: both sums of powers replaced by their means",
        predict=lambda s: Interval.point(theory.log_normal_entropy(s.n, s.spread)),
    ),
    stream=SHARED,
)

INVARIANCE = foil(
    ENTROPY,
    name="a-factor-ln-n-keeps-the-entropy",
    statement=r"A spread in proportion to $\ln n$, 1.5 at 64 keys and 2.5 at 1,024, keeps the entropy of random "
    r"scores.",
    source="mathematics/sharpness.md#the-entropy-of-random-scores; Li et al. 2025, an invariant entropy; Nakanishi "
    "2025, a factor for scores of another law",
    predict=lambda s: Interval.point(theory.entropy(64, 1.5)),
    settings=tuple(RandomScores(n=n, spread=spread) for n, spread in ((16, 1.0), (256, 2.0), (1024, 2.5))),
)

CLAIMS = (SHARED, SHARES, ENTROPY, INVARIANCE)
