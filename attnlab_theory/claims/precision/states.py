"""A recurrent state that is stored in bfloat16 after every step (docs/mathematics/precision.md)."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

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


@functools.partial(jax.jit, static_argnames="steps")
def _after(first: Float[Array, " m"], decay: Scalar, steps: int) -> Float[Array, " m"]:
    """Exact arithmetic in float32: 8 digits times at most 16. The state between the steps is a bfloat16."""

    def step(_, state: Array) -> Array:
        return (state.astype(jnp.float32) * decay).astype(jnp.bfloat16)

    return jax.lax.fori_loop(0, steps, step, first.astype(jnp.bfloat16)).astype(jnp.float32)


def _left(key: PRNGKeyArray, setting: Decaying) -> Float[Array, ""]:
    """The mean of what is left, over all 128 mantissas."""
    del key
    first = 1 + jnp.arange(128, dtype=jnp.float32) / 128
    return jnp.mean(_after(first, 1 - 2.0**-setting.halvings, setting.steps) / first)


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

CLAIMS = (STUCK, HARMLESS)
