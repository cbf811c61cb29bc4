"""What one pass of the delta rule recalls, beside a sum and beside least squares (docs/mathematics/memory.md)."""

import enum
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab_theory.attention.fast_weights import Rule, fast_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.memory.sums import (
    CHUNK,
    READ,
    ROUNDED,
    Read,
    error_of_a_key,
    range_of_an_error,
    unit_keys,
)
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.memory import delta_rule as theory
from attnlab_theory.theory.memory import sums

EPS = float(np.finfo(np.float32).eps)
BY_THE_RULE = READ | {"rule = delta": lambda s: s.rule == Rule.DELTA}


def _error(setting: Read) -> float:
    return theory.delta_error(setting.n, setting.d, int(setting.age), beta=setting.beta, decay=setting.decay)


def _read(n: int, age: int, *, beta: float = 1.0, decay: float = 1.0) -> Read:
    return Read(n=n, d=8, rule=Rule.DELTA, age=age, beta=beta, decay=decay)


DELTA = Claim(
    name="delta-rule-recall",
    statement=r"One pass of the delta rule over random unit keys recalls a key that is $m$ writes old with the "
    r"mean error that a linear recursion over the writes gives. It is never more than 2, and near $(1 - "
    r"e^{-m/d})(2 - e^{-n/d})$ for wide keys.",
    source="mathematics/memory.md#the-delta-rule-forgets; Schlag et al. 2021; Yang et al. 2024b",
    hypotheses=BY_THE_RULE | {"decay = 1": lambda s: s.decay == 1},
    predict=lambda s: Interval.point(_error(s)),
    draw=error_of_a_key,
    bound=range_of_an_error,
    resolution=0.05,
    settings=(
        *(_read(8, 7), _read(8, 4), _read(8, 1), _read(4, 3), _read(16, 15), _read(32, 31)),
        *(_read(8, 7, beta=0.5), _read(16, 15, beta=0.5)),
    ),
    rival=Rival(
        statement=r"The mean error is $(n - 1)/d$, that of a plain sum.",
        source="the delta rule taken for another way to write the same sum",
        predict=lambda s: Interval.point((s.n - 1) / s.d),
    ),
    chunk=CHUNK,
)

SURGICAL = foil(
    DELTA,
    name="a-delta-write-leaves-the-others-alone",
    statement=r"A write by the delta rule leaves the key before it as it was: its error is at most 0.01.",
    source="mathematics/memory.md#the-delta-rule-forgets; Shwartz Ziv 2026, the delta rule does the surgical "
    "thing: true of orthogonal keys",
    predict=Interval.at_most(0.01),
    settings=(_read(8, 1),),
)

NEVER_WORSE = foil(
    DELTA,
    name="no-key-is-recalled-worse-than-by-a-sum",
    statement=r"By the delta rule no key, however old, is recalled worse than by a plain sum.",
    source="mathematics/memory.md#the-delta-rule-forgets; Edifice, documentation of DeltaNet, superior retrieval "
    "accuracy",
    predict=lambda s: Interval.at_most((s.n - 1) / s.d),
    settings=(_read(8, 7), _read(4, 3)),
)

GATED = Claim(
    name="a-gate-turns-old-noise-into-silence",
    statement=r"The gated delta rule multiplies its state by $\gamma$ before each write. The oldest of 32 keys of "
    r"width 8 is then recalled with the mean error 1.28 at $\gamma = 0.8$, where the rule without a gate errs 1.95 "
    r"and silence 1.",
    source="mathematics/memory.md#a-gate-turns-noise-into-silence; Yang et al. 2025",
    hypotheses=BY_THE_RULE | at_most(decay=0.999),
    predict=lambda s: Interval.point(_error(s)),
    draw=error_of_a_key,
    bound=range_of_an_error,
    resolution=0.05,
    settings=(
        *(_read(8, 7, decay=0.8), _read(16, 15, decay=0.8), _read(32, 31, decay=0.8)),
        *(_read(32, 31, decay=0.95), _read(16, 15, beta=0.5, decay=0.8)),
    ),
    rival=Rival(
        statement="A gate changes nothing: the rule forgets by itself.",
        source="the prediction without the decay",
        predict=lambda s: Interval.point(theory.delta_error(s.n, s.d, int(s.age), beta=s.beta)),
    ),
    stated={"n": 32},
    chunk=CHUNK,
)

NO_GATE = foil(
    GATED,
    name="the-delta-rule-forgets-so-no-gate-is-needed",
    statement="Without a gate the delta rule answers to its oldest of 32 keys almost nothing: the error is at most "
    "1.1.",
    source="mathematics/memory.md#a-gate-turns-noise-into-silence; Yang et al. 2025, without their gate",
    hypotheses=BY_THE_RULE,
    predict=Interval.at_most(1.1),
    settings=(_read(32, 31),),
    stated={},
)


class Whole(Setting):
    """n unit keys of width d with orthonormal values; all are read, and the answers multiplied by `scale`."""

    n: int
    d: int
    rule: Rule
    beta: Traced[float]
    scale: Traced[float]


def _mean_error(key: PRNGKeyArray, setting: Whole) -> Scalar:
    k, values = unit_keys(key, setting.n, setting.d), jnp.eye(setting.n)
    state = fast_weights(k, values, rule=setting.rule, beta=setting.beta)
    return jnp.sum((setting.scale * k @ state.T - values) ** 2) / setting.n


def _sum(n: int) -> Whole:
    return Whole(n=n, d=8, rule=Rule.SUM, beta=1.0, scale=sums.best_scale(n, 8))


def _delta(n: int, beta: float, scale: float) -> Whole:
    return Whole(n=n, d=8, rule=Rule.DELTA, beta=beta, scale=scale)


def _best_delta(n: int) -> Whole:
    beta = theory.best_step(n, 8)
    return _delta(n, beta, theory.best_delta_scale(n, 8, beta))


def _of_full_steps(setting: Whole) -> Interval:
    return Interval.point(theory.mean_delta_error(setting.n, setting.d))


def _of_best_sum(setting: Whole) -> Interval:
    return Interval.point(sums.scaled_sum_error(setting.n, setting.d))


SCALED = Claim(
    name="a-scaled-sum-recalls",
    statement=r"A plain sum that is read with a scale $s$ recalls one of $n$ random unit keys with the mean error "
    r"$(1 - s)^2 + s^2(n - 1)/d$: $(n - 1)/d$ without one, $(n - 1)/(n - 1 + d)$ with the best. From $n \approx "
    r"2d/3$ on the latter is less than one pass of the delta rule with $\beta = 1$ leaves.",
    source="mathematics/memory.md#a-sum-that-is-read-with-a-scale",
    hypotheses=at_least(n=2, d=2)
    | more_than(scale=0)
    | at_most(scale=1)
    | {"rule = sum": lambda s: s.rule == Rule.SUM, "beta = 1": lambda s: s.beta == 1},
    predict=lambda s: Interval.point(sums.sum_error(s.n, s.d, 0, scale=s.scale)),
    draw=_mean_error,
    bound=lambda s: bounded(0.0, ROUNDED * s.n),
    resolution=lambda s: 0.05 if s.n == 8 and s.scale < 1 else 0.12,
    settings=(*(_sum(n) for n in (8, 16)), Whole(n=8, d=8, rule=Rule.SUM, beta=1.0, scale=1.0)),
    rival=Rival(
        statement=r"The mean error is that of one pass of the delta rule with $\beta = 1$.",
        source="the delta rule taken for the better of the two",
        predict=_of_full_steps,
    ),
    chunk=CHUNK,
)

FULL_STEPS = foil(
    SCALED,
    name="one-pass-at-full-step-always-errs-less",
    statement=r"One pass of the delta rule with $\beta = 1$ recalls with a smaller mean error than any multiple of "
    "a plain sum.",
    source="mathematics/memory.md#a-sum-that-is-read-with-a-scale; Edifice, documentation of DeltaNet, superior "
    "retrieval accuracy",
    hypotheses=at_least(n=2, d=2),
    predict=lambda s: Interval.at_most(sums.scaled_sum_error(s.n, s.d)),
    bound=lambda s: bounded(0.0, 4 * ROUNDED),
    settings=tuple(_delta(n, 1.0, 1.0) for n in (8, 16)),
)

CHOSEN = Claim(
    name="a-step-and-a-scale-beat-the-sum",
    statement=r"With its step and the scale of its output both chosen, one pass of the delta rule recalls better "
    r"than the best multiple of a plain sum: as $\beta \to 0$ it is that sum, and the best step lies above.",
    source="mathematics/memory.md#a-sum-that-is-read-with-a-scale; Yang et al. 2024b, whose steps are learned",
    hypotheses=at_least(n=2, d=2)
    | more_than(beta=0, scale=0)
    | at_most(beta=1, scale=1e3)
    | {"rule = delta": lambda s: s.rule == Rule.DELTA},
    predict=lambda s: Interval.point(theory.mean_delta_error(s.n, s.d, beta=s.beta, scale=s.scale)),
    draw=_mean_error,
    bound=lambda s: bounded(0.0, ROUNDED * (1 + s.scale * math.sqrt(s.beta / (2 - s.beta))) ** 2),
    resolution=lambda s: 0.02 if s.n == 8 else 0.01,
    settings=tuple(_best_delta(n) for n in (8, 16)),
    rival=Rival(
        statement="It recalls as the best multiple of a plain sum does.",
        source="the limit of small steps, where the delta rule is that sum",
        predict=_of_best_sum,
    ),
    chunk=CHUNK,
)


class Solver(enum.StrEnum):
    """What finds the state."""

    LEAST_SQUARES = "least squares"
    ONE_PASS = "one pass"


class Fitted(Setting):
    """n random unit keys of width d with orthonormal values, and what finds the state."""

    n: int
    d: int
    solver: Solver


@jax.jit
def _one_pass(k: Float[jax.Array, "s d"]) -> Float[jax.Array, "v d"]:
    return fast_weights(k, jnp.eye(k.shape[0]), rule=Rule.DELTA)


def _fitted_error(key: PRNGKeyArray, setting: Fitted) -> float:
    k = np.asarray(unit_keys(key, setting.n, setting.d), np.float64)
    match setting.solver:
        case Solver.LEAST_SQUARES:
            state = np.linalg.lstsq(k, np.eye(setting.n), rcond=None)[0].T
        case Solver.ONE_PASS:
            state = np.asarray(_one_pass(jnp.asarray(k, float)))
    return float(np.sum((k @ state.T - np.eye(setting.n)) ** 2)) / setting.n


LEAST_SQUARES = exact_claim(
    name="least-squares-recalls-up-to-d-keys",
    statement=r"The state that fits all $n$ keys best leaves the mean error $\max(0, 1 - d/n)$, whatever the keys, "
    "if any d of them are independent.",
    source="mathematics/memory.md#least-squares-recalls-up-to-d; Pandey and Singh 2026",
    hypotheses=at_least(n=1, d=1) | {"least squares": lambda s: s.solver == Solver.LEAST_SQUARES},
    predict=lambda s: Interval.point(theory.least_squares_error(s.n, s.d)),
    draw=_fitted_error,
    # An orthogonal projection in float64, whose keys are conditioned to 1e4 or so.
    rounding=1e-5,
    settings=tuple(Fitted(n=n, d=16, solver=Solver.LEAST_SQUARES) for n in (8, 24)),
    rival=Rival(
        statement=r"The mean error is $(n - 1)/(n - 1 + d)$, that of the best multiple of a sum.",
        source="a fit of one number taken for a fit of all",
        predict=lambda s: Interval.point(sums.scaled_sum_error(s.n, s.d)),
    ),
)

ONE_PASS = foil(
    LEAST_SQUARES,
    name="one-pass-is-least-squares",
    statement="One pass of the delta rule over the keys finds the least-squares state.",
    source="mathematics/memory.md#least-squares-recalls-up-to-d, the delta rule minimises the squared error: one "
    "gradient step for each key does not",
    hypotheses=at_least(n=1, d=1),
    settings=tuple(Fitted(n=n, d=16, solver=Solver.ONE_PASS) for n in (8, 24)),
)


class Overwritten(Setting):
    """The first of n orthonormal keys is written again at the end, with another value."""

    n: int
    rule: Rule
    beta: float
    decay: float


@jax.jit
def _answers(
    rows: Float[jax.Array, "s d"], beta: Scalar, decay: Scalar
) -> tuple[Float[jax.Array, " v"], Float[jax.Array, " v"]]:
    """What a sum and the delta rule answer to the first key, which is the last one, too."""
    found = [
        fast_weights(rows, jnp.eye(rows.shape[0]), rule=rule, decay=decay, beta=beta) @ rows[0] for rule in Rule
    ]
    return found[0], found[1]


def _old_value_left(key: PRNGKeyArray, setting: Overwritten) -> Scalar:
    del key
    keys = jnp.eye(setting.n)
    by_sum, by_delta = _answers(jnp.concatenate([keys, keys[:1]]), setting.beta, setting.decay)
    match setting.rule:
        case Rule.SUM:
            return by_sum[0] / setting.beta
        case Rule.DELTA:
            return by_delta[0] / setting.beta


def _left(setting: Overwritten) -> float:
    again = 1 - setting.beta if setting.rule == Rule.DELTA else 1.0
    return again * setting.decay**setting.n


OVERWRITING = exact_claim(
    name="only-the-delta-rule-overwrites",
    statement=r"A key is written again with another value, $n$ writes later. A sum keeps all of the old value, a "
    r"decay $\gamma^n$ of it, the delta rule $1 - \beta$: nothing at $\beta = 1$.",
    source="mathematics/memory.md#writing-twice; Schlag et al. 2021",
    hypotheses=at_least(n=1, decay=1e-3) | more_than(beta=0) | at_most(decay=1, beta=2),
    predict=lambda s: Interval.point(_left(s)),
    draw=_old_value_left,
    rounding=lambda s: EPS * (4 * s.n + 8),
    settings=(
        Overwritten(n=8, rule=Rule.DELTA, beta=1.0, decay=1.0),
        Overwritten(n=8, rule=Rule.DELTA, beta=0.5, decay=0.9),
        Overwritten(n=8, rule=Rule.SUM, beta=1.0, decay=0.9),
    ),
    rival=Rival(
        statement="The old value keeps half: both have been written under the key.",
        source="a mean of the values, as attention with equal scores would give",
        predict=Interval.point(0.5),
    ),
)

DECAY_OVERWRITES = foil(
    OVERWRITING,
    name="a-decay-overwrites",
    statement=r"With a decay of $0.99$ a new value replaces the old one of the same key: less than a tenth is left "
    "after eight writes.",
    source="mathematics/memory.md#writing-twice; Sun et al. 2023, whose decay does not ask which key is written",
    predict=Interval.at_most(0.1),
    settings=(Overwritten(n=8, rule=Rule.SUM, beta=1.0, decay=0.99),),
)


class Repeated(Setting):
    """One key, written with 1 and then `times` times with 0."""

    times: int
    beta: float


MOST_WRITES = 64


@jax.jit
def _rewritten(beta: Float[jax.Array, " s"]) -> Scalar:
    """What one key answers that is written with 1 first, and then with 0."""
    written = jnp.zeros((beta.shape[0], 1)).at[0, 0].set(1.0)
    return fast_weights(jnp.ones_like(written), written, rule=Rule.DELTA, beta=beta)[0, 0]


def _answer_after(key: PRNGKeyArray, setting: Repeated) -> Scalar:
    del key
    at = jnp.arange(MOST_WRITES + 1, dtype=float)
    # The first write is whole, and those that are not asked for have no step: all numbers share one program.
    beta = jnp.where(at == 0, 1.0, jnp.where(at <= setting.times, setting.beta, 0.0))
    return _rewritten(beta)


REFLECTIONS = exact_claim(
    name="a-step-of-two-counts-parity",
    statement=r"With $\beta = 2$ each write of nothing under a key turns the sign of its answer: after $t$ of them "
    r"it is $(1 - \beta)^t$ of what it was, and tells even from odd.",
    source="mathematics/memory.md#writing-twice; Grazzi et al. 2025",
    hypotheses=at_least(times=0, beta=0) | at_most(times=MOST_WRITES, beta=2),
    predict=lambda s: Interval.point(theory.repeated_write(s.beta, s.times)),
    draw=_answer_after,
    rounding=lambda s: EPS * (2 * s.times + 2),
    settings=tuple(Repeated(times=times, beta=2.0) for times in (1, 7, 8)),
    rival=Rival(
        statement="Every write takes off what is there: nothing is left.",
        source=r"a step of one, where $1 - \beta = 0$",
        predict=Interval.point(0.0),
    ),
)

STEPS_TO_ONE = foil(
    REFLECTIONS,
    name="a-sigmoid-step-counts-parity",
    statement="A step of one or less, which a sigmoid gives, turns the sign at an odd number of writes, too.",
    source="mathematics/memory.md#writing-twice; Grazzi et al. 2025, without the factor 2 of their step",
    predict=Interval.at_most(-0.01),
    settings=(Repeated(times=7, beta=0.5), Repeated(times=7, beta=1.0)),
)

CLAIMS = (
    DELTA,
    SURGICAL,
    NEVER_WORSE,
    SCALED,
    FULL_STEPS,
    CHOSEN,
    LEAST_SQUARES,
    ONE_PASS,
    GATED,
    NO_GATE,
    OVERWRITING,
    DECAY_OVERWRITES,
    REFLECTIONS,
    STEPS_TO_ONE,
)
