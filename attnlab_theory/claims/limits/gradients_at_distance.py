"""What is left of a gradient over a distance: recurrence and attention (docs/mathematics/limits.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, bounded, known_variance
from attnlab_theory.theory.limits import gradients_at_distance as theory

EPS = float(np.finfo(np.float32).eps)


class LinearRecurrence(Setting):
    """A recurrent layer of width d without tanh, its matrix gain times an orthogonal one."""

    d: int
    gain: float
    distance: int


@jax.jit
def _linear_jacobian(w: Float[Array, "d d"], steps: Int[Array, ""]) -> Float[Array, "d d"]:
    return jax.jacfwd(lambda first: lax.fori_loop(0, steps, lambda _, h: w @ h, first))(jnp.zeros(w.shape[0]))


def _linear_norm(key: PRNGKeyArray, setting: LinearRecurrence) -> Scalar:
    w = setting.gain * orthonormal(key, setting.d, setting.d)
    return jnp.linalg.norm(_linear_jacobian(w, jnp.int32(setting.distance)), ord=2)


def _linear_rounding(setting: LinearRecurrence) -> float:
    # Every step sums d products of a matrix that is orthogonal to a few d eps. All of it is relative.
    return EPS * 8 * setting.d * (setting.distance + 1) * theory.linear_norm(setting.gain, setting.distance)


DISTANCES = (1, 2, 4, 8, 16, 31)

LINEAR = exact_claim(
    name="linear-recurrence-gradient",
    statement=r"Without a nonlinearity and with $\rho$ times an orthogonal matrix, the Jacobian over a distance "
    r"$\delta$ has norm $\rho^\delta$.",
    source="mathematics/limits.md#gradients-through-a-recurrent-layer; Bengio et al. 1994; ann-hw3/5.1",
    hypotheses={"distance >= 0": lambda s: s.distance >= 0},
    predict=lambda s: Interval.point(theory.linear_norm(s.gain, s.distance)),
    draw=_linear_norm,
    rounding=_linear_rounding,
    settings=tuple(
        LinearRecurrence(d=16, gain=gain, distance=distance) for gain in (0.8, 1.1) for distance in DISTANCES
    ),
    rival=Rival[LinearRecurrence](
        statement=r"It is $\rho^{\delta-1}$.",
        source="a step miscounted: from state to state there are as many as positions apart",
        predict=lambda s: Interval.point(theory.linear_norm(s.gain, s.distance - 1)),
    ),
)

WARM_UP, LONGEST = 12, 8


class TanhRecurrence(Setting):
    """A tanh layer of width d that has run for WARM_UP steps, and a distance of at most LONGEST more."""

    d: int
    gain: Traced[float]
    drive: Traced[float]
    distance: Traced[int]


def _squared_norm(key: PRNGKeyArray, setting: TanhRecurrence) -> Float[Array, ""]:
    """Mean square response to a random change of the state `distance` steps before: |J change|^2 / |change|^2."""
    for_matrix, for_rows, for_change = jax.random.split(key, 3)
    w = jax.random.normal(for_matrix, (setting.d, setting.d)) * (setting.gain / setting.d**0.5)
    rows = setting.drive * jax.random.normal(for_rows, (WARM_UP + LONGEST, setting.d))
    change = jax.random.normal(for_change, (setting.d,))

    def step(
        state: tuple[Array, Array], now: tuple[Array, Float[Array, " d"]]
    ) -> tuple[tuple[Array, Array], Array]:
        i, row = now
        h, response = state
        response = jnp.where(i == WARM_UP, change, response)
        state = jax.jvp(lambda h: jnp.tanh(w @ h + row), (h,), (response,))
        return state, jnp.sum(state[1] ** 2)

    start = (jnp.zeros(setting.d), jnp.zeros(setting.d))
    squares = lax.scan(step, start, (jnp.arange(WARM_UP + LONGEST, dtype=jnp.int32), rows))[1]
    last = WARM_UP - 1 + jnp.asarray(setting.distance).astype(jnp.int32)
    return squares[last] / jnp.sum(change**2)


def _settled(setting: TanhRecurrence) -> float:
    return theory.squared_rate(setting.gain, setting.drive) ** setting.distance


def _of_the_mean_slope(setting: TanhRecurrence) -> float:
    return theory.rate_of_the_mean_slope(setting.gain, setting.drive) ** setting.distance


def _band(setting: TanhRecurrence) -> float:
    return _settled(setting) * (2 * setting.distance / setting.d + 0.02)


MARGIN = 2.0
"""Of the assumed variance over that of independent steps; the judge compares it with the draws'."""


def _assumed_variance(setting: TanhRecurrence) -> float:
    relative = theory.relative_variance(setting.gain, setting.drive, setting.d, setting.distance)
    return MARGIN * relative * _settled(setting) ** 2


RATE = Claim(
    name="tanh-recurrence-gradient",
    statement=r"In a wide tanh layer the mean squared gradient over $\delta$ steps is $\chi^\delta$, $\chi = g^2 "
    r"\mathbb{E}[\tanh'(\sqrt{q}z)^2]$, to within $2\delta/d$ + 2 %.",
    source="mathematics/limits.md#gradients-through-a-recurrent-layer; Poole et al. 2016; Pascanu et al. 2013; "
    "ann-hw3/5.1",
    hypotheses={f"0 <= distance <= {LONGEST}": lambda s: 0 <= s.distance <= LONGEST},
    predict=lambda s: Interval.around(_settled(s), _band(s)),
    draw=_squared_norm,
    bound=lambda s: known_variance(_assumed_variance(s)),
    resolution=lambda s: 0.45 * (_settled(s) - _band(s) - _of_the_mean_slope(s)),
    settings=tuple(
        TanhRecurrence(d=128, gain=gain, drive=drive, distance=distance)
        for gain, drive in ((0.9, 0.5), (1.5, 1.0), (2.0, 0.2))
        for distance in (1, 2, 4, 8)
    ),
    rival=Rival[TanhRecurrence](
        statement=r"It is $\chi^\delta$ with $\chi = g^2 \mathbb{E}[\tanh'(\sqrt{q}z)]^2$.",
        source="the mean slope's square in the place of the mean squared slope",
        predict=lambda s: Interval.point(_of_the_mean_slope(s)),
    ),
    stream="tanh-recurrence",
    chunk=32,
)

EXPLODES = foil(
    RATE,
    name="recurrent-matrix-beyond-one-explodes",
    statement=r"A recurrent matrix of spectral radius 1.5 makes gradients grow.",
    source="mathematics/limits.md#gradients-through-a-recurrent-layer, the rule for linear layers read without "
    "the nonlinearity; ann-hw3/5.1",
    predict=Interval.at_least(1.0),
    settings=tuple(TanhRecurrence(d=128, gain=1.5, drive=1.0, distance=distance) for distance in (2, 4, 8)),
)


class LookingBack(Setting):
    """The last of n tokens of width d looks back over a distance below n."""

    n: int
    d: int
    distance: Traced[int]


def _gradient_in_a_value(key: PRNGKeyArray, setting: LookingBack) -> Float[Array, ""]:
    """Norm of the Jacobian in the value `distance` tokens before, which is a multiple of the identity."""
    for_query, for_keys = jax.random.split(key)
    q = jax.random.normal(for_query, (1, setting.d))
    k = jax.random.normal(for_keys, (setting.n, setting.d))
    # The output is linear in the values: the gradient is the same wherever it is taken.
    slopes = jax.grad(lambda v: attention(q, k, v, scale=setting.d**-0.5)[0, 0])(jnp.zeros_like(k))
    return slopes[setting.n - 1 - jnp.asarray(setting.distance).astype(jnp.int32), 0]


ATTENTION = Claim(
    name="attention-gradient-at-any-distance",
    statement=r"The mean gradient of attention in a value is $1/n$ at every distance.",
    source="mathematics/limits.md#gradients-through-attention; ann-hw3/5.1",
    hypotheses={"0 <= distance < n": lambda s: 0 <= s.distance < s.n},
    predict=lambda s: Interval.point(theory.attention_norm(s.n)),
    draw=_gradient_in_a_value,
    bound=bounded(0.0, 1.0),
    resolution=lambda s: 0.2 * theory.attention_norm(s.n),
    settings=tuple(LookingBack(n=32, d=16, distance=distance) for distance in (1, 2, 4, 16, 31)),
    rival=Rival[LookingBack](
        statement=r"It falls by $\rho = 0.8$ a step, as a recurrent layer's, with weights that add up to one.",
        source="recurrence's law asked of attention; ann-hw3/5.1",
        predict=lambda s: Interval.point(0.8**s.distance * (1 - 0.8) / (1 - 0.8**s.n)),
    ),
    stream="attention-gradient",
    chunk=256,
)

ATTENTION_FADES = foil(
    ATTENTION,
    name="attention-gradient-fades-with-distance",
    statement=r"The gradient of attention falls with distance at least as fast as that of a recurrent layer with "
    r"$\rho = 0.8$.",
    source="mathematics/limits.md#gradients-through-attention, recurrence's law asked of attention; ann-hw3/5.1",
    predict=lambda s: Interval.at_most(theory.linear_norm(0.8, s.distance)),
    settings=ATTENTION.settings[-1:],
)

CLAIMS = (LINEAR, RATE, EXPLODES, ATTENTION, ATTENTION_FADES)
