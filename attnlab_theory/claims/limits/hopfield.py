"""One attention step is the update of a modern Hopfield network (docs/mathematics/limits.md)."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded, known_variance
from attnlab_theory.theory.limits import hopfield as theory

EPS = float(np.finfo(np.float64).eps)


class HopfieldState(Setting):
    """n random patterns of length one and width d, and a state. `trial` is the number of the draw."""

    n: int
    d: int
    strength: float
    trial: int


def _patterns(key: PRNGKeyArray, n: int, d: int) -> Float[Array, "s d"]:
    drawn = jax.random.normal(key, (n, d))
    return drawn / jnp.linalg.norm(drawn, axis=1, keepdims=True)


@jax.jit
def _updated(patterns: Float[Array, "s d"], state: Float[Array, " d"], strength: Scalar) -> Float[Array, " d"]:
    return attention(state[None, :], patterns, patterns, scale=strength)[0]


@jax.jit
def _energy(patterns: Float[Array, "s d"], state: Float[Array, " d"], strength: Scalar) -> Float[Array, ""]:
    return -jax.nn.logsumexp(strength * (patterns @ state)) / strength + jnp.sum(state**2) / 2


def _steps(key: PRNGKeyArray, setting: HopfieldState) -> tuple[float, float]:
    """The distance of attention from a gradient step of size one, and the energy that this gains; in float64."""
    for_patterns, for_state = jax.random.split(jax.random.fold_in(key, setting.trial))
    drawn = _patterns(for_patterns, setting.n, setting.d), jax.random.normal(for_state, (setting.d,))
    with jax.enable_x64(True):
        patterns, state = (jnp.asarray(np.asarray(x), jnp.float64) for x in drawn)
        step = _updated(patterns, state, setting.strength)
        descent = state - jax.grad(_energy, argnums=1)(patterns, state, setting.strength)
        gained = _energy(patterns, step, setting.strength) - _energy(patterns, state, setting.strength)
        return float(jnp.linalg.norm(step - descent)), float(gained)


def _distance_from_descent(key: PRNGKeyArray, setting: HopfieldState) -> Scalar:
    return _steps(key, setting)[0]


def _energy_gained(key: PRNGKeyArray, setting: HopfieldState) -> Scalar:
    return _steps(key, setting)[1]


def _step_rounding(setting: HopfieldState) -> float:
    # Scores have the size strength * |state|, where |state| <= 4 sqrt(d), and err by (d + 2) eps of it. Weights err
    # by four times that, plus (2 n + 4) eps. The energy has the size |state|^2.
    score = 4 * setting.d**0.5 * setting.strength
    return EPS * (8 * (setting.d + 2) * score + 2 * setting.n + 4 + 64 * setting.d)


STORED = at_least(n=1, d=1, trial=0, strength=1e-3) | at_most(strength=1e3)
"""Energies of size 1/strength lose the digits of what a step gains, if the strength is far less."""

MEMORIES = tuple(
    HopfieldState(n=16, d=8, strength=strength, trial=trial) for strength in (1.0, 4.0, 16.0) for trial in range(2)
)

UPDATE = exact_claim(
    name="attention-is-a-step-down-the-hopfield-energy",
    statement=r"Attention of a state to its patterns is $\xi - \nabla E(\xi)$, $E = -\frac{1}{\beta}\ln\sum_i "
    r"e^{\beta x_i\cdot\xi} + \frac{1}{2}|\xi|^2$.",
    source="mathematics/limits.md#an-attention-step-lowers-the-energy-of-a-hopfield-network; Ramsauer et al. "
    "2021, theorem 1",
    hypotheses=STORED,
    predict=Interval.point(0.0),
    draw=_distance_from_descent,
    rounding=_step_rounding,
    settings=MEMORIES,
    rival=Rival(
        statement=r"The energy has $|\xi|^2$ instead of $\frac{1}{2}|\xi|^2$. Then attention is $|\xi|$ away from "
        "the step.",
        source="the factor one half left out; one half is less than the length of any state here",
        predict=Interval.at_least(0.5),
    ),
)


DESCENT = exact_claim(
    name="an-attention-step-never-raises-the-energy",
    statement="A step of attention never raises the energy of the Hopfield network that stores the keys.",
    source="mathematics/limits.md#an-attention-step-lowers-the-energy-of-a-hopfield-network; Ramsauer et al. "
    "2021, theorem 1",
    hypotheses=STORED,
    predict=Interval.at_most(0.0),
    draw=_energy_gained,
    rounding=_step_rounding,
    settings=MEMORIES,
    rival=Rival(
        statement="A step of length one overshoots: it raises the energy, or leaves it as it is.",
        source=r"the descent lemma, which promises a descent below $2/L$ only, with the scores' curvature "
        r"$\beta \max_i|x_i|^2$ taken for $L$. The energy curves downwards there: no curvature exceeds one",
        predict=Interval.at_least(0.0),
    ),
)


MOST, WIDEST = 256, 8


class StoredPatterns(Setting):
    """n random patterns of length one and width d, and a query for one of them.

    MOST patterns of WIDEST coordinates are drawn. The first n patterns and their first d coordinates are kept, so
    that all settings share one program.
    """

    n: Traced[int]
    d: Traced[int]
    strength: Traced[float]


def _stored(key: PRNGKeyArray, setting: StoredPatterns) -> tuple[Float[Array, "s d"], Bool[Array, "1 s"]]:
    """The patterns, and a mask that keeps the first n of them."""
    kept = jnp.arange(WIDEST, dtype=float) < setting.d
    drawn = jnp.where(kept[None, :], jax.random.normal(key, (MOST, WIDEST)), 0.0)
    there = (jnp.arange(MOST, dtype=float) < setting.n)[None, :]
    return drawn / jnp.linalg.norm(drawn, axis=1, keepdims=True), there


def _share_of_copy_bound(key: PRNGKeyArray, setting: StoredPatterns) -> Float[Array, ""]:
    """The error of one retrieval, in units of what the copy bound allows at this separation."""
    patterns, there = _stored(key, setting)
    scores = jnp.einsum("sd,d->s", patterns, patterns[0])
    gap = setting.strength * (scores[0] - jnp.max(jnp.where(there[0, 1:], scores[1:], -jnp.inf)))
    escaped = (setting.n - 1) * jnp.exp(-gap)
    furthest = jnp.max(jnp.where(there[0], jnp.linalg.norm(patterns - patterns[:1], axis=1), 0.0))
    # Values are relative to the pattern that is asked for, so that a small error is not the difference of two large
    # numbers.
    missed = attention(patterns[:1], patterns, patterns - patterns[:1], there, scale=setting.strength)[0]
    error = jnp.linalg.norm(missed)
    return error / (escaped / (1 + escaped) * furthest)


DRAWN = (
    at_least(d=1)
    | more_than(strength=0)
    # Weights at larger strengths leave the range of float32.
    | at_most(strength=32)
    | {
        f"1 < n <= {MOST}": lambda s: 1 < s.n <= MOST,
        f"d <= {WIDEST}": lambda s: s.d <= WIDEST,
    }
)

RETRIEVAL = Claim(
    name="retrieval-error-below-the-copy-bound",
    statement=r"A stored pattern separated from the others by $\Delta$ is retrieved to within the copy bound: "
    r"$\frac{(n-1)e^{-\beta\Delta}}{1 + (n-1)e^{-\beta\Delta}}\max_i\|x_i - x_j\|$.",
    source="mathematics/limits.md#retrieval-of-a-stored-pattern; Ramsauer et al. 2021, theorem 5",
    # On a line all patterns may be the same.
    hypotheses=DRAWN | at_least(d=2),
    predict=Interval.at_most(1.0),
    draw=_share_of_copy_bound,
    # Twice the bound is allowed. If draws were declared to lie in [0, 1], the claim would be assumed and not
    # tested.
    bound=bounded(0.0, 2.0),
    resolution=0.02,
    settings=tuple(StoredPatterns(n=16, d=8, strength=strength) for strength in (2.0, 4.0, 8.0)),
    rival=Rival[StoredPatterns](
        statement=r"It is retrieved to within $1/(n-1)$ of the bound, about $e^{-\beta\Delta}\max_i\|x_i - x_j\|$.",
        source="the nearest other pattern counted, the rest left out",
        predict=lambda s: Interval.at_most(1 / (s.n - 1)),
    ),
    chunk=256,
)


def _interference(key: PRNGKeyArray, setting: StoredPatterns) -> Float[Array, ""]:
    patterns, there = _stored(key, setting)
    weights = attention_weights(patterns[:1], patterns, there, scale=setting.strength)[0]
    return jnp.sum(weights[1:]) / weights[0]


PER_WIDTH = 1.0
"""Strength per dimension. Patterns whose coordinates have mean square one have this strength at a scale of one."""

WIDTHS = (2, 3, 4, 5, 6, 7, 8)
FULL = tuple(StoredPatterns(n=theory.capacity(d, PER_WIDTH * d), d=d, strength=PER_WIDTH * d) for d in WIDTHS)

INTERFERENCE = Claim(
    name="interference-of-random-patterns",
    statement="Of $n$ random patterns the $n - 1$ others together weigh "
    r"$(n-1)e^{-\beta}\,{}_0F_1(;\frac{d}{2};\frac{\beta^2}{4})$ times as much as the one that is "
    r"asked for, on average. So the capacity grows exponentially with $d$ at $\beta = d$.",
    source="mathematics/limits.md#how-many-patterns-fit; Ramsauer et al. 2021, theorem 3",
    hypotheses=DRAWN,
    predict=lambda s: Interval.point(theory.mean_interference(s.n, s.d, s.strength)),
    draw=_interference,
    bound=lambda s: known_variance(theory.interference_variance(s.n, s.d, s.strength)),
    resolution=0.08,
    settings=FULL,
    rival=Rival[StoredPatterns](
        statement=r"They weigh $(n-1)e^{-\beta+\beta^2/2d}$.",
        source="inner products of unit vectors taken for normal ones, of variance 1/d",
        predict=lambda s: Interval.point((s.n - 1) * math.exp(-s.strength + s.strength**2 / (2 * s.d))),
    ),
    stream="stored-patterns",
    chunk=64,
)


def _weight_of_the_one(key: PRNGKeyArray, setting: StoredPatterns) -> Float[Array, ""]:
    return 1 / (1 + _interference(key, setting))


CAPACITY = Claim(
    name="capacity-grows-exponentially-with-the-width",
    statement=rf"At $\beta = d$ the capacity grows by nearly $e^{{{theory.capacity_rate(PER_WIDTH):.2f}}}$ a "
    r"dimension: 4, 7, 12, 21, 39, 73 and 135 random patterns at $d = 2$ to $8$ each weigh half at least when "
    r"asked for, on average.",
    source="mathematics/limits.md#how-many-patterns-fit; Ramsauer et al. 2021, theorem 3",
    hypotheses=DRAWN | {"at capacity": lambda s: s.n <= theory.capacity(s.d, s.strength)},
    predict=Interval.at_least(0.5),
    draw=_weight_of_the_one,
    bound=bounded(0.0, 1.0),
    resolution=0.05,
    settings=FULL,
    rival=Rival[StoredPatterns](
        statement="Each weighs two thirds at least: the capacity is larger still.",
        source="half of the interference left out",
        predict=Interval.at_least(2 / 3),
    ),
    stream=INTERFERENCE,
    chunk=64,
)

CLASSICAL = foil(
    CAPACITY,
    name="capacity-is-a-seventh-of-the-width",
    statement=r"Beyond $0.138d$ patterns a memory of width $d$ retrieves none: each weighs less than half.",
    source="mathematics/limits.md#how-many-patterns-fit; Hopfield 1982, whose network it was true of; Amit et "
    "al. 1985",
    hypotheses=DRAWN | {"beyond 0.138 d": lambda s: s.n > theory.classical_capacity(s.d)},
    predict=Interval.at_most(0.45),
)

CLAIMS = (UPDATE, DESCENT, RETRIEVAL, INTERFERENCE, CAPACITY, CLASSICAL)
