"""Pure self-attention makes all tokens alike; skip connections stop it (docs/mathematics/limits.md)."""

import enum
import math
from typing import NamedTuple, assert_never

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import rank_collapse as theory

EPS = float(np.finfo(np.float64).eps)


class Maps(NamedTuple):
    """The matrices A and V of a layer, both [d, d]: scores are x_i^T A x_j, values are V x_j."""

    form: Array | np.ndarray
    values: Array | np.ndarray


@jax.jit
def _layers(x: Float[Array, "t d"], layers: Int[Array, ""], maps: Maps, skip: Scalar) -> Float[Array, "t d"]:
    """Layers of self-attention, with a skip connection (skip = 1) or without one (skip = 0)."""

    def layer(_: Int[Array, ""], x: Float[Array, "t d"]) -> Float[Array, "t d"]:
        return skip * x + attention(x @ maps.form, x, x @ maps.values.T, scale=1.0)

    return lax.fori_loop(0, layers, layer, x)


@jax.jit
def _diameter(x: Float[Array, "t d"]) -> Float[Array, ""]:
    return jnp.max(jnp.linalg.norm(x[:, None, :] - x[None, :, :], axis=2))


def _scaled(x: ArrayLike, diameter: float) -> Float[Array, "t d"]:
    tokens = jnp.asarray(x, jnp.float64)
    return tokens * (diameter / _diameter(tokens))


def _diameter_after(x: ArrayLike, layers: int, *, diameter: float, maps: Maps, skip: bool) -> Scalar:
    """The diameter after some layers, in float64: after four layers, fewer than eight digits of the differences are
    left."""
    with jax.enable_x64(True):
        return float(_diameter(_layers(_scaled(x, diameter), jnp.int32(layers), maps, float(skip))))


def _rounding(layers: int, t: int, d: int, diameter: float, strength: float) -> float:
    """Every layer adds the error of its weights: eps times 4 (d + 2) times the largest score, plus 2 t + 4.

    The error is relative to the tokens. They do not grow, or at most double where there is a skip connection.
    """
    return EPS * 2**layers * (layers + 1) * diameter * (4 * (d + 2) * strength * diameter**2 + 2 * t + 4)


class OppositeTokens(Setting):
    """Two opposite tokens, `diameter` apart, after some layers whose A is `strength` times the identity."""

    layers: int
    diameter: float
    strength: float
    skip: bool


def _distance(key: PRNGKeyArray, setting: OppositeTokens) -> Scalar:
    del key
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    maps = Maps(setting.strength * np.eye(2), np.eye(2))
    return _diameter_after(x, setting.layers, diameter=setting.diameter, maps=maps, skip=setting.skip)


def _predicted_pair(setting: OppositeTokens, *, times: float = 1.0) -> float:
    after = theory.two_with_skip_after if setting.skip else theory.diameter_after
    return after(setting.layers, setting.diameter, times * setting.strength)


def _pair_rounding(setting: OppositeTokens) -> float:
    # With a skip connection distances and scores grow. The last layer has the largest.
    largest = max(setting.diameter, _predicted_pair(setting))
    return _rounding(setting.layers, 2, 2, largest, setting.strength)


DEPTHS = {1.0: 3, 2.0: 4, 2.5: 6}
"""For each diameter, the number of layers that float64 can follow."""

PAIR = exact_claim(
    name="two-tokens-collapse",
    statement=r"Two opposite tokens at a distance $D$ are $D\tanh(aD^2/4)$ apart after a layer of pure "
    r"self-attention: the exponent triples with every layer. With a skip connection they are "
    r"$D(1 + \tanh(aD^2/4))$ apart.",
    source="mathematics/limits.md#two-tokens-collapse; Dong et al. 2021",
    hypotheses=at_least(layers=1) | more_than(diameter=0, strength=0) | at_most(layers=8, diameter=10, strength=10),
    predict=lambda s: Interval.point(_predicted_pair(s)),
    draw=_distance,
    rounding=_pair_rounding,
    settings=(
        *(
            OppositeTokens(layers=layers, diameter=diameter, strength=1.0, skip=False)
            for diameter, depth in DEPTHS.items()
            for layers in range(1, depth + 1)
        ),
        *(OppositeTokens(layers=2, diameter=1.0, strength=strength, skip=False) for strength in (0.5, 3.0)),
        *(OppositeTokens(layers=layers, diameter=1.0, strength=1.0, skip=True) for layers in range(1, 5)),
    ),
    rival=Rival(
        statement=r"They are $D\tanh(aD^2/2)$ apart; with a skip connection $D(1 + \tanh(aD^2/2))$.",
        source="the gap $aD^2/2$ of the two scores in the place of half of it",
        predict=lambda s: Interval.point(_predicted_pair(s, times=2.0)),
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


class Scores(enum.StrEnum):
    """Which matrices A and V the layers have."""

    IDENTITY = "identity"
    OPPOSED = "minus identity"
    """A is minus the identity: a token gives the least weight to tokens like itself."""

    GENERAL = "general"
    """A and V are random, with norms 1 and VALUES. The tokens lie around a point that is not zero."""


VALUES = 1.5


class CrowdOfTokens(Setting):
    """t random tokens of width d, scaled to a diameter, after some layers. `trial` is the number of the draw."""

    scores: Scores
    t: int
    d: int
    layers: int
    diameter: float
    trial: int


def _value_norm(scores: Scores) -> float:
    return VALUES if scores == Scores.GENERAL else 1.0


def _of_norm(matrix: Float[np.ndarray, "d d"], norm: float) -> Float[np.ndarray, "d d"]:
    return matrix * (norm / np.linalg.norm(matrix, ord=2))


def _crowd(key: PRNGKeyArray, setting: CrowdOfTokens) -> tuple[np.ndarray, np.ndarray, Maps]:
    """A centre, the tokens minus the centre, and the matrices of the layers; in float64."""
    d = setting.d
    keys = jax.random.split(jax.random.fold_in(key, setting.trial), 4)
    shapes = ((setting.t, d), (d,), (d, d), (d, d))
    tokens, centre, form, values = (
        np.asarray(jax.random.normal(key, shape), np.float64) for key, shape in zip(keys, shapes, strict=True)
    )
    tokens = tokens - np.mean(tokens, axis=0)
    tokens = tokens * (setting.diameter / np.max(np.linalg.norm(tokens[:, None] - tokens[None], axis=2)))
    match setting.scores:
        case Scores.IDENTITY:
            return np.zeros(d), tokens, Maps(np.eye(d), np.eye(d))
        case Scores.OPPOSED:
            return np.zeros(d), tokens, Maps(-np.eye(d), np.eye(d))
        case Scores.GENERAL:
            return centre / np.linalg.norm(centre), tokens, Maps(_of_norm(form, 1.0), _of_norm(values, VALUES))
        case _:
            assert_never(setting.scores)


def _crowd_diameter(key: PRNGKeyArray, setting: CrowdOfTokens, *, skip: bool) -> Scalar:
    centre, tokens, maps = _crowd(key, setting)
    with jax.enable_x64(True):
        after = _layers(jnp.asarray(centre + tokens), jnp.int32(setting.layers), maps, float(skip))
        return float(_diameter(after))


def _crowd_rounding(setting: CrowdOfTokens) -> float:
    # As for two tokens. A token is at most as long as the centre plus the diameter, and values may grow.
    size = setting.diameter + 1
    return VALUES**setting.layers * _rounding(setting.layers, setting.t, setting.d, size, 1.0)


def _no_slower(setting: CrowdOfTokens) -> float:
    return theory.diameter_after(setting.layers, setting.diameter, 1.0, values=_value_norm(setting.scores))


def _at_the_first_share(setting: CrowdOfTokens) -> float:
    first = theory.next_diameter(setting.diameter, 1.0, values=_value_norm(setting.scores))
    return setting.diameter * (first / setting.diameter) ** setting.layers


A_CROWD = at_least(t=2, d=1, layers=1, trial=0) | more_than(diameter=0) | at_most(diameter=10)

CROWD = exact_claim(
    name="a-crowd-collapses-no-slower-than-two",
    statement=r"Whatever the tokens, a layer of pure self-attention leaves at most $\|V\| D\tanh(aD^2/4)$ of their "
    r"diameter $D$, $a = \|A\|$.",
    source="mathematics/limits.md#any-tokens-collapse-and-skip-connections-stop-it; Dong et al. 2021",
    hypotheses=A_CROWD,
    predict=lambda s: Interval.at_most(_no_slower(s)),
    draw=lambda key, s: _crowd_diameter(key, s, skip=False),
    rounding=_crowd_rounding,
    settings=tuple(
        CrowdOfTokens(scores=scores, t=t, d=4, layers=layers, diameter=diameter, trial=trial)
        for scores, diameter in ((Scores.IDENTITY, 2.0), (Scores.OPPOSED, 2.0), (Scores.GENERAL, 1.0))
        for t in (3, 16)
        for layers in (2, 3)
        for trial in range(4)
    ),
    rival=Rival(
        statement="Every layer leaves the share that the first one may leave.",
        source="collapse read as geometric, like that of one fixed stochastic matrix",
        predict=lambda s: Interval.point(_at_the_first_share(s)),
    ),
)


def _cubing_remainder(key: PRNGKeyArray, setting: CrowdOfTokens) -> Scalar:
    """How far a layer of the real operator is from R A Sigma V^T, in the unit that the claim names."""
    centre, residuals, maps = _crowd(key, setting)
    with jax.enable_x64(True):
        tokens = jnp.asarray(np.concatenate([centre + residuals, centre[None]]))
        # The centre is a query but no key: the outputs of the others are compared with its output.
        seen = tokens[:-1]
        after = np.asarray(attention(tokens @ maps.form, seen, seen @ maps.values.T, scale=1.0))
    weights = scipy.special.softmax(residuals @ (maps.form.T @ centre))
    spread = residuals - weights @ residuals
    covariance = (weights * spread.T) @ spread
    error = (after[:-1] - after[-1]) - residuals @ maps.form @ covariance @ maps.values.T
    tilts = residuals @ maps.form
    spreads = np.sqrt(np.max(np.sum((tilts @ covariance) * tilts, axis=1)) * np.linalg.norm(covariance, ord=2))
    return float(np.max(np.linalg.norm(error, axis=1)) / (_value_norm(setting.scores) * spreads))


def _cubing_rounding(setting: CrowdOfTokens) -> float:
    # Outputs have size two and err by 4 (d + 2) + 2 t + 4 roundings. The unit is at least D^3 / 200 in these
    # crowds.
    return 2 * EPS * (4 * (setting.d + 2) + 2 * setting.t + 4) * 200 / setting.diameter**3


CUBES = exact_claim(
    name="a-layer-cubes-what-tokens-differ-by",
    statement=r"Let $R$ be tokens minus their centre. After a layer, minus the output of the centre, they are "
    r"$R A \Sigma_R V^\top$, to within "
    r"$\frac{e^s - 1 - s}{s}\|V\| \|\Sigma_R\|^{1/2} |\Sigma_R^{1/2} A^\top r_i|$, $s = aD^2$.",
    source="mathematics/limits.md#what-a-layer-leaves-of-small-differences; Dong et al. 2021, for the order",
    # Rounding hides the remainder of smaller differences.
    hypotheses=A_CROWD | at_least(diameter=0.01) | {"one layer": lambda s: s.layers == 1},
    predict=lambda s: Interval.at_most(theory.cubing_error(s.diameter, 1.0)),
    draw=_cubing_remainder,
    rounding=_cubing_rounding,
    settings=tuple(
        CrowdOfTokens(scores=scores, t=t, d=4, layers=1, diameter=diameter, trial=trial)
        for scores in Scores
        for t in (3, 16)
        for diameter in (0.05, 0.1, 0.2)
        for trial in range(2)
    ),
    rival=Rival(
        statement="The law holds to the order of magnitude only: the remainder is a tenth of this unit or more.",
        source="Dong et al. 2021, who bound the order and give no matrix",
        predict=Interval.at_least(0.1),
    ),
)


@jax.jit
def residual_layer(
    centre: Float[Array, " d"], residuals: Float[Array, "t d"], maps: Maps
) -> tuple[Float[Array, " d"], Float[Array, "t d"]]:
    """A layer of pure self-attention on tokens that are given as a centre and residuals. Its output has the same
    form.

    It equals the real operator on centre + residuals, up to rounding. The difference between the weights of a token
    and those of the centre is found by expm1, however small the residuals are.
    """
    weights = jax.nn.softmax(residuals @ (maps.form.T @ centre))
    grown = jnp.expm1(residuals @ maps.form @ residuals.T)
    mean = (grown @ weights)[:, None]
    moved = weights[None, :] * (grown - mean) / (1 + mean)
    return jnp.asarray(maps.values) @ (centre + weights @ residuals), moved @ residuals @ maps.values.T


SMALL = -30.0
"""The logarithm of a small diameter. Its square is 1e-26, so a layer is cubic up to far less than a rounding."""


def _log_diameters(key: PRNGKeyArray, setting: CrowdOfTokens) -> list[float]:
    """The logarithms of the diameter before and after every layer.

    Residuals with a diameter below e^SMALL are magnified before a layer, so that nothing underflows. The layer
    cubes the factor, and the logarithm of the cube is subtracted.
    """
    centre, residuals, maps = _crowd(key, setting)
    found, magnified = [math.log(setting.diameter)], 0.0
    with jax.enable_x64(True):
        for _ in range(setting.layers):
            further = max(0.0, SMALL - (found[-1] + magnified))
            magnified = 3 * (magnified + further)
            larger = math.exp(further) * jnp.asarray(residuals)
            centre, residuals = residual_layer(jnp.asarray(centre), larger, maps)
            found.append(float(jnp.log(_diameter(residuals))) - magnified)
    return found


def _growth_of_the_exponent(key: PRNGKeyArray, setting: CrowdOfTokens) -> Scalar:
    """What the last layer takes off the logarithm of the diameter, over what the layer before it takes off."""
    *_, first, second, third = _log_diameters(key, setting)
    return (third - second) / (second - first)


def _tripling_band(setting: CrowdOfTokens) -> float:
    return theory.tripling_band(setting.layers, setting.diameter, setting.t, setting.d)


TRIPLES = exact_claim(
    name="the-exponent-triples",
    statement=r"In the end, with $A = \pm I$ and $V = I$, a layer takes three times as much off the logarithm of "
    "the diameter as the layer before it.",
    source="mathematics/limits.md#what-a-layer-leaves-of-small-differences; Dong et al. 2021, for the order",
    hypotheses=A_CROWD
    | at_least(diameter=1.5)
    | at_most(diameter=2.5, layers=8)
    | {
        "A = I or -I, V = I": lambda s: s.scores != Scores.GENERAL,
        "at least three layers": lambda s: s.layers >= 3,
        "so many that a layer is nearly cubic": lambda s: math.isfinite(_tripling_band(s)),
    },
    predict=lambda s: Interval.around(3.0, _tripling_band(s)),
    draw=_growth_of_the_exponent,
    # Residuals err by 3^layers roundings of t d terms each, and their logarithms err by as much.
    rounding=lambda s: EPS * 3**s.layers * 64 * s.t * s.d,
    settings=tuple(
        CrowdOfTokens(scores=scores, t=t, d=4, layers=8, diameter=2.0, trial=trial)
        for scores in (Scores.IDENTITY, Scores.OPPOSED)
        for t in (3, 16)
        for trial in range(4)
    ),
    rival=Rival(
        statement="Each layer doubles the exponent.",
        source="the order of Newton's method, a distance squared",
        predict=Interval.point(2.0),
    ),
)

SKIP = exact_claim(
    name="skip-connections-stop-the-collapse",
    statement=r"With a skip connection a layer leaves at least $D(1 - \|V\|\tanh(aD^2/4))$ of the diameter, "
    r"whatever the tokens: nearly all of a small one.",
    source="mathematics/limits.md#any-tokens-collapse-and-skip-connections-stop-it; Dong et al. 2021",
    hypotheses=A_CROWD | {"one layer": lambda s: s.layers == 1},
    predict=lambda s: Interval.at_least(theory.least_with_skip(s.diameter, 1.0, values=_value_norm(s.scores))),
    draw=lambda key, s: _crowd_diameter(key, s, skip=True),
    rounding=_crowd_rounding,
    settings=tuple(
        CrowdOfTokens(scores=Scores.OPPOSED, t=t, d=d, layers=1, diameter=diameter, trial=trial)
        for t, d in ((2, 1), (16, 4))
        for diameter in (0.1, 0.5, 1.0, 2.0)
        for trial in range(2)
    ),
    rival=Rival(
        statement="With a skip connection tokens only move apart.",
        source="two opposite tokens that look at themselves, $A = aI$, taken for all",
        predict=lambda s: Interval.at_least(s.diameter),
    ),
)

CLAIMS = (PAIR, SAME_SHARE, CROWD, CUBES, TRIPLES, SKIP)
