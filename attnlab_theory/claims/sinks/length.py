"""A sink of fixed score fades among more and more keys (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.sinks import length as theory

MOST_KEYS = 256


class BesideASink(Setting):
    """n independent scores N(0, spread^2), and a sink of this score."""

    n: Traced[int]
    spread: Traced[float]
    sink: Traced[float]


def _weight_of_the_sink(key: PRNGKeyArray, setting: BesideASink) -> Float[Array, ""]:
    scores = setting.spread * jax.random.normal(key, (MOST_KEYS,))
    # The sink as the first key: no other key has its coordinate. One program serves all numbers of keys.
    keys = jnp.zeros((MOST_KEYS + 1, 2)).at[1:, 0].set(scores).at[0, 1].set(setting.sink)
    seen = jnp.arange(MOST_KEYS + 1, dtype=float)[None, :] <= setting.n
    return attention_weights(jnp.ones((1, 2)), keys, seen, scale=1.0)[0, 0]


def _rival(setting: BesideASink) -> float:
    return theory.share_beside_the_mean_sum(setting.n, setting.spread, setting.sink)


def _share(setting: BesideASink) -> float:
    return theory.mean_share(setting.n, setting.spread, setting.sink)


FADES = Claim(
    name="a-sink-fades-with-length",
    statement=r"Beside $n$ independent scores $N(0, \sigma^2)$ a sink of score $s$ keeps the mean share "
    r"$\int e^{-u}L(ue^{-s})^n\,du$, $L(u) = E\,e^{-ue^{\sigma g}}$.",
    source="mathematics/sinks.md#a-sink-fades-with-length; Miller 2023; Xiao et al. 2023",
    hypotheses=at_least(n=1, sink=-10) | at_most(n=MOST_KEYS, spread=6, sink=10) | more_than(spread=0),
    predict=lambda s: Interval.point(_share(s)),
    draw=_weight_of_the_sink,
    bound=lambda s: known_variance(theory.share_variance(s.n, s.spread, s.sink)),
    resolution=lambda s: 0.4 * abs(_rival(s) - _share(s)),
    settings=(
        *(BesideASink(n=n, spread=1.0, sink=0.0) for n in (16, 64)),
        *(BesideASink(n=n, spread=spread, sink=0.0) for spread in (2.0, 3.0) for n in (16, 64, 256)),
        BesideASink(n=64, spread=2.0, sink=4.65),
    ),
    rival=Rival(
        statement=r"The share is $e^s/(e^s + ne^{\sigma^2/2})$.",
        source="the sum of the other powers replaced by its mean",
        predict=lambda s: Interval.point(_rival(s)),
    ),
)

QUIET = foil(
    FADES,
    name="softmax-plus-one-keeps-a-random-head-quiet",
    statement="A sink of score 0 keeps at least half of the weight beside random scores, however many they are.",
    source="mathematics/sinks.md#a-sink-fades-with-length; Miller 2023, read without asking what a low score is",
    predict=Interval.at_least(0.5),
    settings=tuple(BesideASink(n=n, spread=1.0, sink=0.0) for n in (16, 64, 256)),
)

CLAIMS = (FADES, QUIET)
