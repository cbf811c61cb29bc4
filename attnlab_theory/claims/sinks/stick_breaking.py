"""Stick-breaking attention: the nearer token first, at any temperature (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import stick_breaking_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sinks import stick_breaking as theory


class Stick(Setting):
    """The last of n + 1 tokens, n independent scores N(0, spread^2) of the past, and one at this distance."""

    n: int
    spread: Traced[float]
    distance: Traced[int]


class Past(Setting):
    """The last of n + 1 tokens and n independent scores N(0, spread^2) of the past."""

    n: int
    spread: Traced[float]


def _weights(key: PRNGKeyArray, setting: Stick | Past) -> Float[Array, " n"]:
    """The weights of the past, the nearest token first."""
    keys = jax.random.normal(key, (setting.n + 1, 1))
    return stick_breaking_weights(jnp.ones_like(keys), keys, scale=setting.spread)[-1, -2::-1]


def _weight(key: PRNGKeyArray, setting: Stick) -> Float[Array, ""]:
    at = jnp.arange(1, setting.n + 1, dtype=float) == setting.distance
    return jnp.sum(jnp.where(at, _weights(key, setting), 0.0))


def _participation(key: PRNGKeyArray, setting: Past) -> Float[Array, ""]:
    return jnp.sum(_weights(key, setting) ** 2)


HALVES = Claim(
    name="stick-breaking-halves-at-any-temperature",
    statement=r"Over independent scores of a law symmetric around 0 stick-breaking attention gives the token at "
    r"distance $\delta$ the mean weight $2^{-\delta}$, however far the scores spread.",
    source="mathematics/sinks.md#stick-breaking-halves-at-any-temperature; Tan et al. 2024",
    hypotheses=at_least(n=1, distance=1)
    | {"distance <= n": lambda s: s.distance <= s.n}
    | at_most(spread=50)
    | more_than(spread=0),
    predict=lambda s: Interval.point(theory.mean_weight(s.distance)),
    draw=_weight,
    bound=bounded(0.0, 1.0),
    resolution=lambda s: 0.01 + 0.02 * theory.mean_weight(s.distance),
    settings=tuple(Stick(n=7, spread=spread, distance=at) for spread in (0.5, 2.0, 8.0) for at in (1, 2, 6)),
    rival=Rival(
        statement="Each of $n$ past tokens has the mean weight $1/n$.",
        source="softmax, whose mean weights are equal over scores of one law",
        predict=lambda s: Interval.point(1 / s.n),
    ),
)

FURTHER = foil(
    HALVES,
    name="a-lower-temperature-looks-further",
    statement="Where scores spread by a half only, the token at distance 6 has at least a tenth of the weight.",
    source="mathematics/sinks.md#stick-breaking-halves-at-any-temperature, what is true of softmax: flat scores "
    "share the weight evenly",
    predict=Interval.at_least(0.1),
    settings=(Stick(n=7, spread=0.5, distance=6),),
)

SHARPENS = Claim(
    name="stick-breaking-participation",
    statement=r"The squares of these weights sum to $m + m^2 + ...$ on average, $m = E\,\sigma(z)^2$: a third "
    r"for scores without spread, one for scores that are all or nothing.",
    source="mathematics/sinks.md#stick-breaking-halves-at-any-temperature; Tan et al. 2024",
    hypotheses=at_least(n=2) | at_most(spread=50) | more_than(spread=0),
    predict=lambda s: Interval.point(theory.participation(s.n, s.spread)),
    draw=_participation,
    bound=bounded(0.0, 1.001),
    resolution=lambda s: min(0.02, 0.4 * (theory.participation(s.n, s.spread) - theory.participation(s.n, 0.0))),
    settings=tuple(Past(n=7, spread=spread) for spread in (0.5, 2.0, 8.0)),
    rival=Rival(
        statement="They sum to $1/4 + 1/16 + ...$: the squares of the mean weights.",
        source="the spread of the weights left out",
        predict=lambda s: Interval.point(theory.participation(s.n, 0.0)),
    ),
    stream=HALVES,
)

CLAIMS = (HALVES, FURTHER, SHARPENS)
