"""Pure self-attention makes all tokens alike; skip connections stop it (docs/mathematics/limits.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import exact_claim, foil
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import rank_collapse as theory

EPS = float(np.finfo(np.float64).eps)


@jax.jit
def _layers(x: Float[Array, "t d"], layers: Int[Array, ""], strength: Scalar, skip: Scalar) -> Float[Array, "t d"]:
    """Self-attention whose queries, keys and values are the tokens, with (skip 1) or without (0) what was there."""
    return lax.fori_loop(0, layers, lambda _, x: skip * x + attention(x, x, x, scale=strength), x)


@jax.jit
def _diameter(x: Float[Array, "t d"]) -> Float[Array, ""]:
    return jnp.max(jnp.linalg.norm(x[:, None, :] - x[None, :, :], axis=2))


def _diameter_after(x: ArrayLike, layers: int, *, diameter: float, strength: float, skip: bool) -> Scalar:
    """In float64: after four layers less than eight digits are left of what the tokens differ by."""
    with jax.enable_x64(True):
        tokens = jnp.asarray(x, jnp.float64)
        tokens = tokens * (diameter / _diameter(tokens))
        return float(_diameter(_layers(tokens, jnp.int32(layers), strength, float(skip))))


def _rounding(layers: int, t: int, d: int, diameter: float, strength: float) -> float:
    """Every layer adds the error of its weights: eps times 4 (d + 2) times the largest score, plus 2 t + 4.

    The error is relative to the tokens. They do not grow, or at most double where there is a skip connection.
    """
    return EPS * 2**layers * (layers + 1) * diameter * (4 * (d + 2) * strength * diameter**2 + 2 * t + 4)


class OppositeTokens(Setting):
    """Two opposite tokens, `diameter` apart, after some layers."""

    layers: int
    diameter: float
    strength: float
    skip: bool


def _distance(key: PRNGKeyArray, setting: OppositeTokens) -> Scalar:
    del key
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    return _diameter_after(
        x, setting.layers, diameter=setting.diameter, strength=setting.strength, skip=setting.skip
    )


def _predicted_pair(setting: OppositeTokens) -> float:
    after = theory.two_with_skip_after if setting.skip else theory.diameter_after
    return after(setting.layers, setting.diameter, setting.strength)


def _pair_rounding(setting: OppositeTokens) -> float:
    # With a skip connection distances and scores grow. The last layer has the largest.
    largest = max(setting.diameter, _predicted_pair(setting))
    return _rounding(setting.layers, 2, 2, largest, setting.strength)


DEPTHS = {1.0: 4, 2.0: 5, 2.5: 7}
"""By diameter: as many layers as float64 can follow."""

PAIR = exact_claim(
    name="two-tokens-collapse",
    statement=r"Two opposite tokens at a distance $D$ are $D\tanh(aD^2/4)$ apart after a layer of pure "
    r"self-attention: the exponent triples with every layer. With a skip connection they are "
    r"$D(1 + \tanh(aD^2/4))$ apart.",
    source="mathematics/limits.md#two-tokens-collapse; Dong et al. 2021",
    hypotheses={"strength > 0": lambda s: s.strength > 0},
    predict=lambda s: Interval.point(_predicted_pair(s)),
    draw=_distance,
    rounding=_pair_rounding,
    settings=(
        *(
            OppositeTokens(layers=layers, diameter=diameter, strength=1.0, skip=False)
            for diameter, depth in DEPTHS.items()
            for layers in range(depth)
        ),
        *(OppositeTokens(layers=layers, diameter=1.0, strength=1.0, skip=True) for layers in range(5)),
    ),
)

SAME_SHARE = foil(
    PAIR,
    name="every-layer-takes-the-same-share",
    statement=r"Every layer of pure self-attention takes the same share of the tokens' distance as the first one.",
    source="mathematics/limits.md#two-tokens-collapse, collapse read as geometric like that of one fixed "
    "stochastic matrix",
    predict=lambda s: Interval.point(s.diameter * np.tanh(s.strength * s.diameter**2 / 4) ** s.layers),
    settings=tuple(OppositeTokens(layers=layers, diameter=2.0, strength=1.0, skip=False) for layers in (2, 3, 4)),
)


class CrowdOfTokens(Setting):
    """t random tokens of width d, scaled to a diameter, after some layers. `trial` names the draw."""

    t: int
    d: int
    layers: int
    diameter: float
    skip: bool
    trial: int


def _crowd_diameter(key: PRNGKeyArray, setting: CrowdOfTokens) -> Scalar:
    x = jax.random.normal(jax.random.fold_in(key, setting.trial), (setting.t, setting.d))
    return _diameter_after(x, setting.layers, diameter=setting.diameter, strength=1.0, skip=setting.skip)


def _crowd_rounding(setting: CrowdOfTokens) -> float:
    return _rounding(setting.layers, setting.t, setting.d, setting.diameter, 1.0)


CROWD = exact_claim(
    name="a-crowd-collapses-no-slower-than-two",
    statement=r"Whatever the tokens, a layer of pure self-attention leaves at most $D\tanh(aD^2/4)$ of their "
    r"diameter $D$.",
    source="mathematics/limits.md#any-tokens-collapse-and-skip-connections-stop-it; Dong et al. 2021",
    hypotheses={"no skip connection": lambda s: not s.skip},
    predict=lambda s: Interval.at_most(theory.diameter_after(s.layers, s.diameter, 1.0)),
    draw=_crowd_diameter,
    rounding=_crowd_rounding,
    settings=tuple(
        CrowdOfTokens(t=16, d=4, layers=layers, diameter=2.0, skip=False, trial=trial)
        for trial in range(2)
        for layers in (1, 2, 3)
    ),
)

SKIP = exact_claim(
    name="skip-connections-stop-the-collapse",
    statement=r"With a skip connection a layer leaves at least $D(1 - \tanh(aD^2/4))$ of the diameter, whatever "
    r"the tokens: nearly all of a small one.",
    source="mathematics/limits.md#any-tokens-collapse-and-skip-connections-stop-it; Dong et al. 2021",
    hypotheses={"one layer, with a skip connection": lambda s: s.skip and s.layers == 1},
    predict=lambda s: Interval.at_least(theory.least_with_skip(s.diameter, 1.0)),
    draw=_crowd_diameter,
    rounding=_crowd_rounding,
    settings=tuple(
        CrowdOfTokens(t=16, d=4, layers=1, diameter=diameter, skip=True, trial=0)
        for diameter in (0.1, 0.25, 0.5, 1.0, 2.0)
    ),
)

CLAIMS = (PAIR, SAME_SHARE, CROWD, SKIP)
