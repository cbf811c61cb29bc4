"""How often random values let a head without a sink say nothing (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.sinks import silence as theory

VALUES_PER_DIMENSION = 4
"""The most values that are drawn for each dimension: so many nearly always surround 0."""

ROUNDING, LEFT = 1e-5, 3e-4
"""What an entry, and the sum of all, may be off in float32 after some dozen pivots. Few draws are so near to 0."""


class Values(Setting):
    """n values of width d, their coordinates independent N(0, 1)."""

    n: Traced[int]
    d: int


def is_surrounded(values: Float[Array, "n d"]) -> Bool[Array, ""]:
    """Whether 0 is a weighted mean of the values: the opposite of the first is a sum of the others, none negative.

    This is the first phase of the simplex method. The table has a row for each equation. Its last row has minus the
    sum of those that are not solved yet. If there is a solution, nothing is left of it.
    """
    wanted, others = -values[0], values[1:]
    table = jnp.concatenate([others, wanted[None]]).T * jnp.where(wanted < 0, -1, 1)[:, None]
    table = jnp.concatenate([table, -table.sum(axis=0, keepdims=True)])

    def helps(table: Float[Array, "rows n"]) -> Bool[Array, ""]:
        return (table[-1, :-1].min() < -ROUNDING) & (table[-1, -1] < -LEFT)

    def exchanged(table: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
        enters = jnp.argmin(table[-1, :-1])
        column = table[:, enters]
        leaves = jnp.argmin(jnp.where(column[:-1] > ROUNDING, table[:-1, -1] / column[:-1], jnp.inf))
        row = table[leaves] / column[leaves]
        return (table - jnp.outer(column, row)).at[leaves].set(row)

    return jax.lax.while_loop(helps, exchanged, table)[-1, -1] >= -LEFT


def _can_be_silent(key: PRNGKeyArray, setting: Values) -> Bool[Array, ""]:
    values = jax.random.normal(key, (VALUES_PER_DIMENSION * setting.d, setting.d))
    # Copies of the first value in place of those beyond n: one program serves all n.
    return is_surrounded(jnp.where(jnp.arange(len(values), dtype=float)[:, None] < setting.n, values, values[0]))


SILENCE = Claim(
    name="silence-needs-twice-as-many-values-as-dimensions",
    statement=r"Some weights of a head without a sink give exactly 0 with the chance $1 - 2^{-(n-1)}\sum_{k<d}"
    r"\binom{n-1}{k}$ over $n$ random values of a symmetric law in $d$ dimensions: a half at $n = 2d$.",
    source="mathematics/sinks.md#silence-needs-twice-as-many-values-as-dimensions; Wendel 1962",
    hypotheses=at_least(n=1, d=2) | at_most(d=16) | {"n <= 4 d": lambda s: s.n <= VALUES_PER_DIMENSION * s.d},
    predict=lambda s: Interval.point(theory.chance_of_silence(int(s.n), s.d)),
    draw=_can_be_silent,
    bound=proportion(),
    resolution=0.03,
    settings=(*(Values(n=n, d=2) for n in (3, 4, 5, 8)), *(Values(n=n, d=8) for n in (12, 16, 24))),
    rival=Rival(
        statement="Never: weights sum to one, so a head has to say something.",
        source="Miller 2023, softmax cannot say nothing",
        predict=Interval.point(0.0),
    ),
)

NECESSARY = foil(
    SILENCE,
    name="sinks-are-necessary-to-be-silent",
    statement="Without a sink a head over values in the plane can say nothing in at most one case of twenty.",
    source="mathematics/sinks.md#silence-needs-twice-as-many-values-as-dimensions; Miller 2023, of any values; "
    "Ran-Milo 2026, who proves it for one task",
    predict=Interval.at_most(0.05),
    settings=SILENCE.settings[1:4],
)

CLAIMS = (SILENCE, NECESSARY)
