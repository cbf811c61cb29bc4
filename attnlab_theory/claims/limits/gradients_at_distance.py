"""What is left of a gradient over a distance: recurrence and attention (docs/mathematics/limits.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention, rotary
from attnlab_theory.attention.recurrence import recurrent_layer
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import orthonormal
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.limits import gradients_at_distance as theory

EPS = float(np.finfo(np.float32).eps)


class LinearRecurrence(Setting):
    """A recurrent layer of width d without tanh. Its matrix has the spectral radius `gain` and a larger norm.

    It turns d / 2 planes by ANGLE, each stretched by `stretch` along one of its axes.
    """

    d: int
    gain: float
    stretch: float
    distance: int


ANGLE = 1.0
"""The angle of a turn in radians: no number of steps turns a plane back to where it was."""

DISTANCES = (2, 4, 8, 16, 31)


@jax.jit
def _linear_jacobian(w: Float[Array, "d d"], token: Int[Array, ""]) -> Float[Array, "d d"]:
    """The Jacobian of the layer's last state with respect to one of its tokens."""
    nothing = jnp.zeros((DISTANCES[-1] + 1, w.shape[0]))

    def last_state(row: Float[Array, " d"]) -> Float[Array, " d"]:
        return recurrent_layer(nothing.at[token].set(row), jnp.eye(w.shape[0]), w, lambda h: h)[-1]

    return jax.jacfwd(last_state)(nothing[0])


def _linear_norm(key: PRNGKeyArray, setting: LinearRecurrence) -> Scalar:
    turn = jnp.array(
        [[jnp.cos(ANGLE), -setting.stretch * jnp.sin(ANGLE)], [jnp.sin(ANGLE) / setting.stretch, jnp.cos(ANGLE)]]
    )
    frame = orthonormal(key, setting.d, setting.d)
    w = setting.gain * frame @ jnp.kron(jnp.eye(setting.d // 2), turn) @ frame.T
    return jnp.linalg.norm(_linear_jacobian(w, jnp.int32(DISTANCES[-1] - setting.distance)), ord=2)


def _linear_predicted(setting: LinearRecurrence) -> float:
    return theory.linear_norm(setting.gain, setting.distance, stretch=setting.stretch, angle=ANGLE)


def _norm_of_a_step(setting: LinearRecurrence) -> float:
    return theory.linear_norm(setting.gain, 1, stretch=setting.stretch, angle=ANGLE)


def _linear_rounding(setting: LinearRecurrence) -> float:
    # Every step sums d products of a matrix that is known to a few d eps. Its powers stretch by `stretch` or by its
    # inverse at most.
    steps = 8 * setting.d * (setting.distance + 1)
    return EPS * steps * max(setting.stretch, 1 / setting.stretch) ** 2 * setting.gain**setting.distance


LINEAR = exact_claim(
    name="linear-recurrence-gradient",
    statement=r"Without a nonlinearity the Jacobian over a distance $\delta$ follows the spectral radius $\rho$ of "
    r"$W$, not its norm: it is $\rho^\delta$ times at most $s$, where $W$ turns planes that are stretched by $s$.",
    source="mathematics/limits.md#gradients-through-a-recurrent-layer; Bengio et al. 1994; ann-hw3/5.1",
    hypotheses={
        f"0 <= distance <= {DISTANCES[-1]}": lambda s: 0 <= s.distance <= DISTANCES[-1],
        "d is even": lambda s: s.d % 2 == 0,
    }
    | at_least(d=2, gain=0.1, stretch=0.1)
    | at_most(gain=4, stretch=10),
    predict=lambda s: Interval.point(_linear_predicted(s)),
    draw=_linear_norm,
    rounding=_linear_rounding,
    settings=tuple(
        LinearRecurrence(d=16, gain=gain, stretch=2.0, distance=distance)
        for gain in (0.8, 1.1)
        for distance in DISTANCES
    ),
    rival=Rival[LinearRecurrence](
        statement=r"It is $\lVert W\rVert^\delta$, with the norm of one step.",
        source="the bound of Pascanu et al. 2013 by the largest singular value, taken for what happens",
        predict=lambda s: Interval.point(_norm_of_a_step(s) ** s.distance),
    ),
)

WARM_UP, LONGEST = 12, 8


class TanhRecurrence(Setting):
    """A tanh layer of width d after WARM_UP steps, and a distance of at most LONGEST further steps."""

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


def _has_settled(setting: TanhRecurrence) -> bool:
    """Whether a unit's input has nearly the variance that it tends to when the distance begins."""
    begun = theory.variance_after(WARM_UP, setting.gain, setting.drive)
    return abs(begun / theory.settled_variance(setting.gain, setting.drive) - 1) <= 1e-3


def _settled(setting: TanhRecurrence) -> float:
    return theory.squared_rate(setting.gain, setting.drive) ** setting.distance


def _of_the_mean_slope(setting: TanhRecurrence) -> float:
    return theory.rate_of_the_mean_slope(setting.gain, setting.drive) ** setting.distance


def _band(setting: TanhRecurrence) -> float:
    return _settled(setting) * (2 * setting.distance / setting.d + 0.02)


MARGIN = 2.0
"""The assumed variance over the variance for independent steps. The judge compares the assumed variance with that
of the draws."""


def _assumed_variance(setting: TanhRecurrence) -> float:
    relative = theory.relative_variance(setting.gain, setting.drive, setting.d, setting.distance)
    return MARGIN * relative * _settled(setting) ** 2


RATE = Claim(
    name="tanh-recurrence-gradient",
    statement=r"Over $\delta$ steps of a tanh layer of width $d$ and gain $g$ the mean squared gradient is "
    r"$\chi^\delta$, $\chi = g^2 \mathbb{E}[\tanh'(\sqrt{q}z)^2]$, where $q$ is the variance of what a unit is "
    r"given. The relative error is at most $2\delta/d + 0.02$ where $d \geq 32$ and $d \geq \delta^2$.",
    source="mathematics/limits.md#gradients-through-a-recurrent-layer; Poole et al. 2016; Pascanu et al. 2013; "
    "ann-hw3/5.1",
    hypotheses={f"0 <= distance <= {LONGEST}": lambda s: 0 <= s.distance <= LONGEST}
    # One matrix makes all the steps. In a narrow layer its powers are not like products of independent matrices.
    | at_least(d=32)
    | {"distance**2 <= d": lambda s: s.distance**2 <= s.d}
    | more_than(gain=0, drive=0)
    | at_most(gain=4, drive=4)
    | {f"{WARM_UP} steps are enough to settle": _has_settled},
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
    """The last of n tokens of width d looks back over a distance below n.

    `deviation` is the standard deviation of the scores after they are divided by sqrt(d).
    """

    n: int
    d: int
    deviation: Traced[float]
    distance: Traced[int]


def _projections(d: int) -> Float[Array, "three d d"]:
    """Three orthogonal matrices, the same in every draw. Tokens are normal, so any others would give the same
    results."""
    with jax.ensure_compile_time_eval():
        keys = jax.random.split(key_for(0, "attention-gradient", "projections"), 3)
        return jnp.stack([orthonormal(key, d, d) for key in keys])


PROBLEMS = 2
"""Problems that are averaged in one draw: with fewer the variance is too large for 2**16 draws."""


def _squared_gradient_in_a_token(key: PRNGKeyArray, setting: LookingBack) -> Float[Array, ""]:
    return jnp.mean(jax.vmap(lambda key: _squared_response(key, setting))(jax.random.split(key, PROBLEMS)))


def _squared_response(key: PRNGKeyArray, setting: LookingBack) -> Float[Array, ""]:
    """|J change|^2 / |change|^2 in one problem: how the last output responds to a random change of one token."""
    for_tokens, for_change = jax.random.split(key)
    x = jax.random.normal(for_tokens, (setting.n, setting.d))
    # The token that asks gets the length sqrt(d), so that its scores have the same deviation in every draw.
    x = x.at[-1].multiply(setting.d**0.5 / jnp.linalg.norm(x[-1]))
    change = jax.random.normal(for_change, (setting.d,))
    token = setting.n - 1 - jnp.asarray(setting.distance).astype(jnp.int32)
    for_queries, for_keys, for_values = _projections(setting.d)
    positions = jnp.arange(float(setting.n))

    def last_output(x: Float[Array, "t d"]) -> Float[Array, " d"]:
        q = rotary(x[-1:] @ for_queries, positions[-1:])
        k = rotary(x @ for_keys, positions)
        # The last row of a causal layer is the one that sees all tokens.
        return attention(setting.deviation * q, k, x @ for_values, scale=setting.d**-0.5)[0]

    response = jax.jvp(last_output, (x,), (jnp.zeros_like(x).at[token].set(change),))[1]
    return jnp.sum(response**2) / jnp.sum(change**2)


def _through_attention(setting: LookingBack) -> float:
    return theory.attention_squared_gradient(setting.n, setting.deviation)


def _through_the_value(setting: LookingBack) -> float:
    return theory.attention_squared_weight(setting.n, setting.deviation)


def _width_band(setting: LookingBack) -> float:
    return 2 / setting.d * _through_attention(setting)


ATTENTION = Claim(
    name="attention-gradient-at-any-distance",
    statement=r"In a causal layer with rotary positions the mean squared gradient in an earlier token is the same "
    r"at every distance, $\mathbb{E}[\alpha^2(1 + s^2(1 - 2\alpha + \sum_k\alpha_k^2))]$, to within $2/d$.",
    source="mathematics/limits.md#gradients-through-attention; ann-hw3/5.1",
    hypotheses={"0 < distance < n": lambda s: 0 < s.distance < s.n, "d is even": lambda s: s.d % 2 == 0}
    | at_least(d=2, deviation=0)
    | at_most(deviation=1),
    predict=lambda s: Interval.around(_through_attention(s), _width_band(s)),
    draw=_squared_gradient_in_a_token,
    bound=lambda s: known_variance(theory.attention_squared_gradient_variance(s.n, s.deviation) / PROBLEMS),
    resolution=lambda s: 0.49 * (_through_attention(s) - _width_band(s) - _through_the_value(s)),
    settings=tuple(LookingBack(n=32, d=32, deviation=0.7, distance=distance) for distance in (1, 4, 16, 31)),
    rival=Rival[LookingBack](
        statement=r"It is $\mathbb{E}[\alpha^2]$.",
        source="the gradient in the value alone, without that in the key",
        predict=lambda s: Interval.point(_through_the_value(s)),
    ),
    stream="attention-gradient",
    chunk=256,
)

ATTENTION_FADES = foil(
    ATTENTION,
    name="attention-gradient-fades-with-distance",
    statement=r"The squared gradient of attention falls with distance at least as fast as a recurrent layer's with "
    r"$\rho = 0.8$.",
    source="mathematics/limits.md#gradients-through-attention, recurrence's law asked of attention; ann-hw3/5.1",
    predict=lambda s: Interval.at_most(theory.linear_norm(0.8, s.distance) ** 2),
    settings=ATTENTION.settings[-2:],
)

CLAIMS = (LINEAR, RATE, EXPLODES, ATTENTION, ATTENTION_FADES)
