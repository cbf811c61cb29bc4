"""What a sum of outer products recalls, with a decay or without (docs/mathematics/memory.md)."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention.fast_weights import Rule, fast_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Bound, Interval, bounded, known_variance, proportion
from attnlab_theory.theory.memory import sums as theory

CHUNK = 256
"""Draws for each step: the states of so many memories fit the cache."""

ROUNDED = 1 + 1e-5
"""The range of a draw is wider by this factor, for float32."""


def unit_keys(key: PRNGKeyArray, n: int, d: int) -> Float[Array, "s d"]:
    """Keys of length one in uniform directions."""
    k = jax.random.normal(key, (n, d))
    return k / jnp.linalg.norm(k, axis=1, keepdims=True)


class NormalKeys(Setting):
    """n independent keys of the law N(0, I/d), with orthonormal values."""

    n: int
    d: int


def _error_of_a_sum(key: PRNGKeyArray, setting: NormalKeys) -> Scalar:
    k = jax.random.normal(key, (setting.n, setting.d)) * setting.d**-0.5
    values = jnp.eye(setting.n)
    return jnp.sum((fast_weights(k, values, rule=Rule.SUM) @ k[0] - values[0]) ** 2)


SUM = Claim(
    name="sum-recall",
    statement=r"A sum of outer products recalls one of $n$ keys of the law $N(0, I/d)$ with the mean error "
    r"$(n + 1)/d$, where a silent memory errs 1.",
    source="mathematics/memory.md#a-sum-overflows; Schlag et al. 2021",
    hypotheses=at_least(n=1, d=1),
    predict=lambda s: Interval.point(theory.sum_error(s.n, s.d, 0, normal_keys=True)),
    draw=_error_of_a_sum,
    bound=lambda s: known_variance(theory.sum_variance(s.n, s.d)),
    resolution=lambda s: 0.8 / s.d,
    settings=tuple(NormalKeys(n=n, d=8) for n in (4, 8, 16)),
    rival=Rival(
        statement=r"The mean error is $(n - 1)/d$, that of the other keys.",
        source="the lengths of the keys taken for one: their squares have the variance $2/d$",
        predict=lambda s: Interval.point((s.n - 1) / s.d),
    ),
    chunk=CHUNK,
)

CAPACITY = foil(
    SUM,
    name="up-to-d-keys-are-recalled",
    statement=r"A sum of outer products recalls a key with an error of at most 0.1, while there are no more keys "
    r"than dimensions.",
    source="mathematics/memory.md#a-sum-overflows; Xiao 2025, the capacity $O(d)$ of linear attention read as "
    "recall",
    hypotheses=at_least(n=1, d=1) | {"n <= d": lambda s: s.n <= s.d},
    predict=Interval.at_most(0.1),
    settings=tuple(NormalKeys(n=n, d=8) for n in (4, 8)),
)


class Read(Setting):
    """n unit keys of width d with orthonormal values; the key is read that has `age` newer ones."""

    n: int
    d: int
    rule: Rule
    age: Traced[int]
    beta: Traced[float]
    decay: Traced[float]


READ = (
    at_least(n=2, d=2, age=0, decay=1e-3)
    | {"age < n": lambda s: s.age < s.n}
    | more_than(beta=0)
    | at_most(beta=1, decay=1)
)


def error_of_a_key(key: PRNGKeyArray, setting: Read) -> Scalar:
    """The squared distance of what the memory answers to the key from its value."""
    k, values = unit_keys(key, setting.n, setting.d), jnp.eye(setting.n)
    state = fast_weights(k, values, rule=setting.rule, decay=setting.decay, beta=setting.beta)
    wanted = (jnp.arange(setting.n, dtype=k.dtype) == setting.n - 1 - setting.age).astype(k.dtype)
    return jnp.sum((state @ (wanted @ k) - wanted) ** 2)


def range_of_an_error(setting: Read) -> Bound:
    """The factor of a value is a product of cosines and decays.

    By the delta rule the squares of all factors sum to beta / (2 - beta) at most.
    """
    match setting.rule:
        case Rule.SUM:
            return bounded(0.0, ROUNDED * setting.n)
        case Rule.DELTA:
            return bounded(0.0, ROUNDED * (1 + math.sqrt(setting.beta / (2 - setting.beta))) ** 2)


DECAY = Claim(
    name="decay-recall",
    statement=r"In a sum whose state is multiplied by $\gamma$ before each write, a key that is $m$ writes old is "
    r"recalled with the mean error $((1 - \gamma^{2n})/(1 - \gamma^2) - \gamma^{2m})/d + (1 - \gamma^m)^2$.",
    source="mathematics/memory.md#a-decay-bounds-the-sum; Sun et al. 2023; Dao and Gu 2024",
    hypotheses=READ
    | at_most(decay=0.999)
    | {"beta = 1": lambda s: s.beta == 1, "rule = sum": lambda s: s.rule == Rule.SUM},
    predict=lambda s: Interval.point(theory.sum_error(s.n, s.d, s.age, decay=s.decay)),
    draw=error_of_a_key,
    bound=range_of_an_error,
    resolution=0.15,
    settings=tuple(Read(n=32, d=8, rule=Rule.SUM, age=age, beta=1.0, decay=0.9) for age in (0, 8)),
    rival=Rival(
        statement=r"The noise is that of $1/(1 - \gamma)$ keys.",
        source=r"how long the memory is said to remember, with $\gamma$ for $\gamma^2$",
        predict=lambda s: Interval.point(
            ((1 - s.decay**s.n) / (1 - s.decay) - s.decay ** (2 * s.age)) / s.d + (1 - s.decay**s.age) ** 2
        ),
    ),
    chunk=CHUNK,
)


class Signs(Setting):
    """n unit keys of width d whose values are signs; the sign of an answer is read."""

    n: int
    d: int


def _sign_is_wrong(key: PRNGKeyArray, setting: Signs) -> Bool[Array, ""]:
    for_keys, for_values = jax.random.split(key)
    k = unit_keys(for_keys, setting.n, setting.d)
    values = jax.random.rademacher(for_values, (setting.n, 1), k.dtype)
    return (fast_weights(k, values, rule=Rule.SUM) @ k[0])[0] * values[0, 0] < 0


SIGNS = Claim(
    name="signs-are-recalled-longer",
    statement=r"If values are signs, the sign of what a sum answers is wrong with the chance that $n - 1$ random "
    r"cosines sum to more than 1: one time in six at $n = d + 1$.",
    source="mathematics/memory.md#signs-are-recalled-longer; Schlag et al. 2021",
    hypotheses=at_least(n=2, d=4) | at_most(d=64),
    predict=lambda s: Interval.point(theory.wrong_signs(s.n, s.d)),
    draw=_sign_is_wrong,
    bound=proportion(),
    resolution=0.07,
    settings=(Signs(n=9, d=8),),
    rival=Rival(
        statement="No sign is wrong.",
        source="decoding by sign taken for one that removes the noise",
        predict=Interval.point(0.0),
    ),
    chunk=CHUNK,
)


class Divided(Setting):
    """The parallel form of a decay, which multiplies queries by decay^t and keys by decay^-t."""

    decay: float


LONGEST = 16384


def _first_infinite(key: PRNGKeyArray, setting: Divided) -> float:
    del key
    with np.errstate(over="ignore"):
        keys = np.exp(-np.arange(LONGEST) * np.log(setting.decay)).astype(np.float32)
    return float(np.argmax(np.isinf(keys)))


OVERFLOWS = exact_claim(
    name="divided-decays-overflow",
    statement=r"In the parallel form keys are multiplied by $\gamma^{-t}$, which float32 no longer holds from $t = "
    r"843$ on at $\gamma = 0.9$, and from 2,795 on at $1 - 1/32$.",
    source="mathematics/memory.md#a-decay-bounds-the-sum; Yang et al. 2024; Sun et al. 2023",
    hypotheses=at_least(decay=0.1) | at_most(decay=0.994),
    predict=lambda s: Interval.point(float(theory.first_overflow(s.decay))),
    draw=_first_infinite,
    rounding=0.1,
    settings=tuple(Divided(decay=decay) for decay in (0.9, 1 - 1 / 32, 0.99)),
    rival=Rival(
        statement=r"From where $\gamma^t$ is below the smallest number of float32.",
        source="the largest number taken for one over the smallest",
        predict=lambda s: Interval.point(float(theory.first_underflow(s.decay))),
    ),
)

EQUIVALENT = foil(
    OVERFLOWS,
    name="three-forms-are-equivalent",
    statement="The parallel form of a decay of 0.9 computes what the recurrent form does at all of 4,096 tokens.",
    source="mathematics/memory.md#a-decay-bounds-the-sum; Sun et al. 2023, equal in exact arithmetic",
    predict=Interval.at_least(4096.0),
    settings=OVERFLOWS.settings[:1],
)

CLAIMS = (SUM, CAPACITY, DECAY, OVERFLOWS, EQUIVALENT, SIGNS)
