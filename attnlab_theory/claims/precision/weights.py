"""Weights of eight bits beside a sink (docs/mathematics/precision.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_scores
from attnlab_theory.attention.precision import rounded
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.precision import weights as theory

EPS = float(np.finfo(np.float32).eps)
FORMAT = jnp.float8_e4m3fn
MOST_KEYS = 1056


class EightBits(Setting):
    """n equal keys beside a sink of share w; powers are multiplied by a factor and stored in e4m3."""

    n: int
    w: float
    factor: float


@jax.jit
def _outputs(keys: Float[Array, "s 1"], n: Scalar, sink: Scalar, factor: Scalar) -> tuple[Scalar, Scalar]:
    """The output, its powers stored, and the output. All values are one, and the sink's is 0.

    `keys` are zeros, an argument: as constants XLA would fold them.
    """
    q, seen = jnp.ones((1, 1)), jnp.arange(MOST_KEYS, dtype=float)[None, :] < n
    powers = jnp.exp(attention_scores(q, keys, seen, scale=1.0) - sink)
    stored = rounded(factor * powers, FORMAT) / factor
    right = attention(q, keys, jnp.ones_like(keys), seen, scale=1.0, sink=sink)
    return jnp.sum(stored) / (jnp.sum(powers) + 1), right[0, 0]


def _kept(key: PRNGKeyArray, setting: EightBits) -> Scalar:
    del key
    sink = float(np.log(setting.n * setting.w / (1 - setting.w)))
    stored, right = _outputs(jnp.zeros((MOST_KEYS, 1)), float(setting.n), sink, setting.factor)
    return stored / right


def _clear_of_ties(setting: EightBits) -> bool:
    """Whether no rounding of float32 turns a power into another number of eight bits."""
    power = setting.factor * (1 / setting.w - 1) / setting.n
    return theory.nearest_e4m3(power * (1 - 1e-4)) == theory.nearest_e4m3(power * (1 + 1e-4))


VANISH = exact_claim(
    name="fp8-weights-beside-a-sink-vanish",
    statement=r"If powers $e^{z - \max}$ times $c$ are stored in e4m3, $n \ge 1024c(1 - w)/w$ equal keys beside a "
    r"sink of share $w$ keep nothing of the output. Just below that they count double.",
    source="mathematics/precision.md#weights-of-eight-bits-beside-a-sink; Lau 2026",
    hypotheses=at_least(n=1, factor=1)
    | at_most(n=MOST_KEYS, w=0.99, factor=448)
    | more_than(w=0)
    | {
        "the sink leads": lambda s: s.w * s.n >= 1 - s.w,
        "c is 448 or a power of two": lambda s: s.factor in (448.0, *(2.0**i for i in range(9))),
        "no power is near a tie": _clear_of_ties,
    },
    predict=lambda s: Interval.point(theory.kept_output(s.n, s.w, s.factor)),
    draw=_kept,
    # Powers err by |s| and a few roundings, sums of n of them by n, either way.
    rounding=lambda s: EPS * (2 * s.n + 2 * abs(np.log(s.n * s.w / (1 - s.w))) + 16) * 2,
    settings=(
        *(EightBits(n=n, w=0.5, factor=1.0) for n in (700, 1000, 1030)),
        *(EightBits(n=n, w=0.97, factor=32.0) for n in (900, 1020)),
    ),
    rival=Rival(
        statement="They keep all of it: no weight exceeds one, and eight bits hold such numbers.",
        source="the output without rounding",
        predict=Interval.point(1.0),
    ),
)

SUFFICES = foil(
    VANISH,
    name="weights-are-below-one-so-fp8-suffices",
    statement="Powers stored in e4m3 without a factor keep the output of 256 keys beside a sink of nine tenths "
    "within ten per cent.",
    source="mathematics/precision.md#weights-of-eight-bits-beside-a-sink; Lau 2026, of a kernel that had no factor",
    predict=Interval(0.9, 1.1),
    settings=(EightBits(n=256, w=0.9, factor=1.0),),
)

CLAIMS = (VANISH, SUFFICES)
