"""A recurrent state that is stored in bfloat16 after every step (docs/mathematics/precision.md)."""

import enum
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention.precision import rounded
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.precision import states as theory

EPS = 2.0**-23


class Decaying(Setting):
    """A state that is multiplied by 1 - 2^-halvings at each of so many steps, and stored in bfloat16."""

    halvings: int
    steps: int


class Stored(enum.StrEnum):
    """The type in which a state waits for the next step."""

    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    E4M3 = "float8_e4m3fn"


DIGITS = {Stored.BFLOAT16: 8, Stored.FLOAT16: 11, Stored.E4M3: 4}
"""Binary digits of a number, the leading one included."""


@functools.partial(jax.jit, static_argnames="kind")
def _after(
    first: Float[Array, " m"], decay: Scalar, write: Scalar, steps: Int[Array, ""], kind: Stored
) -> Float[Array, " m"]:
    """Exact arithmetic in float32: so few digits times at most 15, and one. The state in between is coarse."""

    def step(_, state: Array) -> Array:
        return rounded(state * decay + write, kind.value)

    return jax.lax.fori_loop(0, steps, step, rounded(first, kind.value))


def _left(key: PRNGKeyArray, setting: Decaying) -> Float[Array, ""]:
    """The mean of what is left, over all 128 mantissas."""
    del key
    first = 1 + jnp.arange(128, dtype=jnp.float32) / 128
    return jnp.mean(
        _after(first, 1 - 2.0**-setting.halvings, 0.0, jnp.int32(setting.steps), Stored.BFLOAT16) / first
    )


STUCK = exact_claim(
    name="a-bf16-state-never-forgets",
    statement=r"A state that is stored in bfloat16 after each step does not change by a decay of $1 - 2^{-9}$ or "
    r"nearer to one, however many steps there are and however exact they are.",
    source="mathematics/precision.md#a-state-of-few-digits-never-forgets; Sun et al. 2023",
    hypotheses=at_least(steps=1)
    | at_most(halvings=15, steps=4096)
    | {"2^-9 or less": lambda s: theory.is_stuck(s.halvings)},
    predict=Interval.point(1.0),
    draw=_left,
    # A mean of 128 quotients.
    rounding=130 * EPS,
    settings=tuple(Decaying(halvings=halvings, steps=1000) for halvings in (9, 10, 11, 12, 13)),
    rival=Rival(
        statement=r"After $t$ steps $\gamma^t$ of it is left.",
        source="exact arithmetic between the steps, taken for an exact state",
        predict=lambda s: Interval.point(theory.left(s.halvings, s.steps)),
    ),
)

HARMLESS = foil(
    STUCK,
    name="storing-in-bf16-is-harmless-if-computed-in-float32",
    statement=r"After 1000 steps the stored state is within ten per cent of $\gamma^{1000}$.",
    source="mathematics/precision.md#a-state-of-few-digits-never-forgets, vllm-project/tpu-inference#2482 with its "
    "unchanged precision of computing",
    hypotheses=at_least(halvings=2, steps=1) | at_most(halvings=15, steps=4096),
    predict=lambda s: Interval(0.9 * theory.left(s.halvings, s.steps), 1.1 * theory.left(s.halvings, s.steps)),
    settings=tuple(Decaying(halvings=halvings, steps=1000) for halvings in (8, 9, 10, 11, 12, 13)),
)


class Written(Setting):
    """A state that is multiplied by 1 - 2^-halvings, and to which 1 is added, at each of so many steps."""

    kind: Stored
    halvings: int
    steps: int


def _sum_of_writes(key: PRNGKeyArray, setting: Written) -> Float[Array, ""]:
    del key
    decay = 1 - 2.0**-setting.halvings
    return jnp.mean(_after(jnp.zeros(128), decay, 1.0, jnp.int32(setting.steps), setting.kind))


STOPS = exact_claim(
    name="equal-writes-stop-counting",
    statement=r"A state to which 1 is added at each step stops at $2^p$ if it is stored in $p$ digits: at 256 in "
    r"bfloat16, 2,048 in float16, 16 in e4m3. A decay of $1 - 2^{-h}$ with $h > p$ changes nothing of it.",
    source="mathematics/precision.md#a-state-of-few-digits-never-forgets; Sun et al. 2023",
    hypotheses=at_most(halvings=13, steps=8192)
    | {
        "halvings > digits": lambda s: s.halvings > DIGITS[s.kind],
        "as many steps as twice the number": lambda s: s.steps >= 2 * 2 ** DIGITS[s.kind],
    },
    predict=lambda s: Interval.point(theory.settled(DIGITS[s.kind])),
    draw=_sum_of_writes,
    # Whole numbers, and their mean.
    rounding=lambda s: 130 * EPS * theory.settled(DIGITS[s.kind]),
    settings=(
        *(Written(kind=Stored.BFLOAT16, halvings=halvings, steps=1000) for halvings in (9, 13)),
        Written(kind=Stored.FLOAT16, halvings=13, steps=8000),
        Written(kind=Stored.E4M3, halvings=13, steps=1000),
    ),
    rival=Rival(
        statement=r"After $t$ steps it is $(1 - \gamma^t)/(1 - \gamma)$.",
        source="exact arithmetic between the steps, taken for an exact state",
        predict=lambda s: Interval.point(theory.written(s.halvings, s.steps)),
    ),
)

CLAIMS = (STUCK, HARMLESS, STOPS)
