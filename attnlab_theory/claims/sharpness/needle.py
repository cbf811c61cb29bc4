"""A key that leads among random distractors: no scale puts it on top (docs/mathematics/sharpness.md)."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory.sharpness import needle as theory

MOST_KEYS = 1024
SLOPE = 0.43
"""The s of s ln n in the first figure of the paper on scalable softmax."""


class Needle(Setting):
    """A key that leads the mean of n distractors N(0, 1) by so much, all scores times this strength."""

    n: Traced[int]
    lead: Traced[float]
    strength: Traced[float]


def _weights(key: PRNGKeyArray, setting: Needle) -> Float[Array, " s"]:
    scores = jax.random.normal(key, (MOST_KEYS,))
    keys = jnp.concatenate([jnp.reshape(setting.lead, (1,)), scores])[:, None]
    seen = jnp.arange(MOST_KEYS + 1, dtype=float)[None, :] <= setting.n
    return attention_weights(jnp.ones((1, 1)), keys, seen, scale=setting.strength)[0]


def _leads(key: PRNGKeyArray, setting: Needle) -> Bool[Array, ""]:
    weights = _weights(key, setting)
    return weights[0] > jnp.max(weights[1:])


def _weight(key: PRNGKeyArray, setting: Needle) -> Float[Array, ""]:
    return _weights(key, setting)[0]


NEEDLES = at_least(n=1, lead=0) | at_most(n=MOST_KEYS, lead=5, strength=12) | more_than(strength=0)

TOP = Claim(
    name="no-scale-saves-a-needle",
    statement=r"A key that leads the mean of $n$ normal distractors by $\mu$ standard deviations has the largest "
    r"weight with the chance $\Phi(\mu)^n$, whatever all scores are multiplied by.",
    source="mathematics/sharpness.md#no-scale-saves-a-needle; Nakanishi 2025",
    hypotheses=NEEDLES | at_least(strength=0.2),
    predict=lambda s: Interval.point(theory.chance_on_top(int(s.n), s.lead)),
    draw=_leads,
    bound=proportion(),
    resolution=lambda s: min(
        0.05, 0.4 * (theory.chance_on_top(1, s.lead) - theory.chance_on_top(s.n, s.lead)) + 1e-6
    ),
    settings=(
        *(Needle(n=n, lead=3.0, strength=3.0) for n in (64, 256, 1024)),
        Needle(n=1024, lead=3.0, strength=1.0),
    ),
    rival=Rival(
        statement=r"The chance is $\Phi(\mu)$.",
        source="one distractor taken for n",
        predict=lambda s: Interval.point(theory.chance_on_top(1, s.lead)),
    ),
    chunk=256,
)

WEIGHT = Claim(
    name="weight-of-a-needle",
    statement=r"At the scale $\beta$ its mean weight is $\int e^{-u}L(ue^{-\beta\mu})^n\,du$, $L(u) = "
    r"E\,e^{-ue^{\beta g}}$.",
    source="mathematics/sharpness.md#no-scale-saves-a-needle; Nakanishi 2025",
    hypotheses=NEEDLES,
    predict=lambda s: Interval.point(theory.mean_weight(int(s.n), s.lead, s.strength)),
    draw=_weight,
    bound=bounded(0.0, 1.001),
    resolution=lambda s: min(
        0.05,
        0.4
        * abs(
            theory.mean_weight(int(s.n), s.lead, s.strength)
            - theory.weight_beside_the_mean_sum(s.n, s.lead, s.strength)
        ),
    ),
    settings=(
        *(Needle(n=n, lead=3.0, strength=strength) for strength in (3.0, 10.0) for n in (64, 256, 1024)),
        *(Needle(n=n, lead=3.0, strength=SLOPE * math.log(n)) for n in (256, 1024)),
    ),
    rival=Rival(
        statement=r"The weight is $1/(1 + ne^{\beta^2/2 - \beta\mu})$.",
        source="log-normal calculus: the distractors' sum replaced by its mean",
        predict=lambda s: Interval.point(theory.weight_beside_the_mean_sum(s.n, s.lead, s.strength)),
    ),
    stream=TOP,
    chunk=256,
)

KEPT = foil(
    WEIGHT,
    name="a-factor-ln-n-keeps-the-needle",
    statement=r"At the scale $0.43\ln n$ a needle that leads by 3 keeps half of the weight among any number of "
    r"keys.",
    source="mathematics/sharpness.md#no-scale-saves-a-needle; Nakanishi 2025, whose other scores are equal",
    predict=Interval.at_least(0.5),
    settings=WEIGHT.settings[-2:],
)

CLAIMS = (TOP, WEIGHT, KEPT)
