"""How often random values let a head without a sink say nothing (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.sinks import silence as theory

MOST_VALUES = 8


class Values(Setting):
    """n values of width d, their coordinates independent N(0, 1)."""

    n: Traced[int]
    d: int


def _have_a_gap(points: Float[Array, "n 2"]) -> Bool[Array, ""]:
    """Whether all points lie on one side of a line through 0: a gap of at least a half turn holds none."""
    angles = jnp.sort(jnp.arctan2(points[:, 1], points[:, 0]))
    return jnp.max(jnp.diff(angles, append=angles[:1] + 2 * jnp.pi)) >= jnp.pi


def _can_be_silent(key: PRNGKeyArray, setting: Values) -> Bool[Array, ""]:
    if setting.d > 2:
        # Weights that give 0 are G w for a w in the plane: they are positive if all rows of G lie on one side.
        values = jax.random.normal(key, (setting.d + 2, setting.d))
        rows = jnp.linalg.solve(values[: setting.d].T, values[setting.d :].T)
        return _have_a_gap(jnp.concatenate([-rows, jnp.eye(2)]))
    values = jax.random.normal(key, (MOST_VALUES, 2))
    # Copies of the first value in place of those beyond n: one program serves all n.
    values = jnp.where(jnp.arange(MOST_VALUES, dtype=float)[:, None] < setting.n, values, values[0])
    return ~_have_a_gap(values)


SILENCE = Claim(
    name="silence-needs-twice-as-many-values-as-dimensions",
    statement=r"Some weights of a head without a sink give exactly 0 with the chance $1 - 2^{-(n-1)}\sum_{k<d}"
    r"\binom{n-1}{k}$ over $n$ random values of a symmetric law in $d$ dimensions: a half at $n = 2d$.",
    source="mathematics/sinks.md#silence-needs-twice-as-many-values-as-dimensions; Wendel 1962",
    hypotheses=at_least(n=1, d=2)
    | at_most(n=MOST_VALUES)
    | {"d = 2, or n = d + 2": lambda s: s.d == 2 or s.n == s.d + 2},
    predict=lambda s: Interval.point(theory.chance_of_silence(int(s.n), s.d)),
    draw=_can_be_silent,
    bound=proportion(),
    resolution=0.03,
    settings=(*(Values(n=n, d=2) for n in (3, 4, 5, 8)), Values(n=6, d=4)),
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
