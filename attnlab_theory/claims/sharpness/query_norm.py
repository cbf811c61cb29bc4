"""A normed query and its own key (docs/mathematics/sharpness.md)."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights, normed
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sharpness import query_norm as theory


class Normed(Setting):
    """n random keys of width d, all of the length sqrt(d), and one of them as the query."""

    n: int
    d: int


def _own_weight(key: PRNGKeyArray, setting: Normed) -> Float[Array, ""]:
    keys = normed(jax.random.normal(key, (setting.n, setting.d)))
    return attention_weights(keys[:1], keys, scale=setting.d**-0.5)[0, 0]


def _predicted(setting: Normed) -> float:
    return theory.own_weight(setting.n, setting.d)


FINDS = Claim(
    name="a-normed-query-finds-itself",
    statement=r"A query of the length $\sqrt d$ gives its own among $n$ random keys of this length the mean weight "
    r"$\int e^{-u}G(u)^{n-1}\,du$ at the scale $1/\sqrt d$, $G(u) = E\,e^{-ue^{\sqrt d(t - 1)}}$, $t$ a random "
    r"cosine.",
    source="mathematics/sharpness.md#a-normed-query-finds-itself; Henry et al. 2020",
    hypotheses=at_least(n=2, d=2) | at_most(n=4096, d=256),
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_own_weight,
    bound=bounded(0.0, 1.001),
    resolution=lambda s: 0.4 * abs(_predicted(s) - theory.own_weight_beside_zeros(s.n, s.d)),
    settings=(Normed(n=256, d=16), Normed(n=256, d=32)),
    rival=Rival(
        statement=r"The weight is $e^{\sqrt d}/(e^{\sqrt d} + n - 1)$.",
        source="the other keys taken for orthogonal to the query, as they are on average",
        predict=lambda s: Interval.point(theory.own_weight_beside_zeros(s.n, s.d)),
    ),
    chunk=64,
)

FREE = foil(
    FINDS,
    name="qk-norm-costs-no-expressivity",
    statement=r"A normed query without a gain gives its own of 256 random keys of width 16 at least half of the "
    r"weight.",
    source="mathematics/sharpness.md#a-normed-query-finds-itself; Henry et al. 2020, without the scale that they "
    "learn",
    predict=Interval.at_least(0.5),
    settings=FINDS.settings[:1],
)

CLAIMS = (FINDS, FREE)
