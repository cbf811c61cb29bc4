"""Gates that depend on the token: what a forget gate keeps, what a gate on the output adds
(docs/mathematics/memory.md)."""

import enum

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.attention.forgetting import forget_gate_bias
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.memory import gates as theory


class ForgetGates(Setting):
    """n tokens of equal scores, with independent gates of the law Beta(theta, 1)."""

    n: int
    theta: Traced[float]


def _newest_weight(key: PRNGKeyArray, setting: ForgetGates) -> Scalar:
    for_gates, for_keys = jax.random.split(key)
    log_gates = -jax.random.exponential(for_gates, (setting.n,)) / setting.theta
    row = jax.random.normal(for_keys, (1, 1))
    keys = jnp.broadcast_to(row, (setting.n, 1))
    return attention_weights(row, keys, scale=1.0, bias=forget_gate_bias(log_gates)[-1:])[0, -1]


def _with_the_tail(setting: ForgetGates) -> Interval:
    weight = theory.newest_weight(setting.theta)
    return Interval(weight, weight + theory.left_out(setting.theta, setting.n))


FORGET = Claim(
    name="a-forget-gate-remembers-less-than-its-mean-says",
    statement=r"Under equal scores and independent forget gates of the law Beta$(\theta, 1)$ the newest token has "
    r"the mean weight $\int_0^\infty e^{-u - \theta\,\mathrm{Ein}(u)}\,du$: 0.5615 at $\theta = 1$.",
    source="mathematics/memory.md#a-forget-gate-and-its-mean; Lin et al. 2025",
    hypotheses=at_least(n=1, theta=0.1) | at_most(theta=16),
    predict=_with_the_tail,
    draw=_newest_weight,
    bound=bounded(0.0, 1.0001),
    resolution=lambda s: 0.4 * (theory.newest_weight(s.theta) - theory.newest_weight_of_the_mean(s.theta)),
    settings=tuple(ForgetGates(n=64, theta=theta) for theta in (1.0, 2.0, 4.0)),
    rival=Rival(
        statement=r"The mean weight is $1/(1 + \theta)$, that under constant gates.",
        source="gates replaced by their mean",
        predict=lambda s: Interval.point(theory.newest_weight_of_the_mean(s.theta)),
    ),
)

BY_ITS_MEAN = foil(
    FORGET,
    name="a-forget-gate-forgets-as-its-mean-does",
    statement="A forget gate whose mean is a half leaves the newest token half of the weight.",
    source="mathematics/memory.md#a-forget-gate-and-its-mean; Lin et al. 2025, gates read as constant decays",
    predict=Interval.at_most(0.5),
    settings=FORGET.settings[:1],
)


class Gate(enum.StrEnum):
    """What multiplies a head's output before the projection."""

    NONE = "none"
    HEADWISE = "headwise"
    ELEMENTWISE = "elementwise"


class GatedHead(Setting):
    """n random tokens of a model's width, read by one random head of another width through a gate."""

    n: int
    width: int
    model_width: int
    gate: Gate


RANK_TOLERANCE = 1e-5
"""Singular values below this share of the largest are rounding: float32 gives 1e-6 or less."""


def _gate(x: Float[Array, "t d"], w: Float[Array, "d v"], gate: Gate) -> Float[Array, "t v"]:
    match gate:
        case Gate.NONE:
            return jnp.ones((x.shape[0], w.shape[1]))
        case Gate.HEADWISE:
            return jnp.broadcast_to(jax.nn.sigmoid(x @ w[:, :1]), (x.shape[0], w.shape[1]))
        case Gate.ELEMENTWISE:
            return jax.nn.sigmoid(x @ w)


def _rank(key: PRNGKeyArray, setting: GatedHead) -> float:
    keys = iter(jax.random.split(key, 6))
    x = jax.random.normal(next(keys), (setting.n, setting.model_width))
    wide = (setting.model_width, setting.width)
    w_q, w_k, w_v, w_gate, w_out = (jax.random.normal(next(keys), wide) / wide[0] ** 0.5 for _ in range(5))
    heads = attention(x @ w_q, x @ w_k, x @ w_v, scale=1.0) * _gate(x, w_gate, setting.gate)
    sizes = np.linalg.svd(np.asarray(heads @ w_out.T, np.float64), compute_uv=False)
    return float(np.sum(sizes > RANK_TOLERANCE * sizes[0]))


GATE_RANK = exact_claim(
    name="a-gate-adds-no-dimension",
    statement=r"The outputs of one head through its projection have the rank $\min(n, d_h)$, with a sigmoid gate "
    "before the projection, elementwise or headwise, as without one.",
    source="mathematics/memory.md#a-gate-adds-no-dimension; Qiu et al. 2025",
    hypotheses=at_least(n=1, width=1)
    | at_most(n=64, width=8)
    | {"width <= model": lambda s: s.width <= s.model_width},
    predict=lambda s: Interval.point(float(theory.rank_of_a_head(s.n, s.width, s.model_width))),
    draw=_rank,
    rounding=0.1,
    settings=tuple(GatedHead(n=40, width=4, model_width=32, gate=gate) for gate in Gate),
    rival=Rival(
        statement=r"With a gate the rank is $\min(n, D)$, for a model's width $D$.",
        source="the gate taken for a layer between two projections, which no longer compose to one of low rank",
        predict=lambda s: Interval.point(float(min(s.n, s.model_width))),
    ),
)

LIFTS = foil(
    GATE_RANK,
    name="the-gate-lifts-the-rank",
    statement="A sigmoid gate before the projection gives a head outputs of more dimensions than the head has.",
    source="mathematics/memory.md#a-gate-adds-no-dimension; Qiu et al. 2025, non-linearity upon the low-rank "
    "mapping read as a higher rank",
    predict=lambda s: Interval.at_least(s.width + 1.0),
    settings=GATE_RANK.settings[1:],
)

CLAIMS = (FORGET, BY_ITS_MEAN, GATE_RANK, LIFTS)
