"""A difference leads out of the hull of the values (docs/mathematics/sharpness.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import differential_attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.sharpness import hull as theory

EPS = float(np.finfo(np.float32).eps)
STRENGTH = 60.0
"""Beyond it a weight is one to all digits of float32."""


class Apart(Setting):
    """Two maps that point at two of n orthonormal values, the second of them times lam."""

    n: int
    lam: float


@jax.jit
def _output(frame: Float[Array, "n n"], lam: Scalar) -> Float[Array, " n"]:
    q = STRENGTH * frame
    return differential_attention(q[:1], q[1:2], frame, frame, lam=lam, scale=1.0)[0]


def _distance(key: PRNGKeyArray, setting: Apart) -> float:
    """The distance from the simplex, by the projection onto it: subtract what leaves a positive part of one."""
    del key
    output = np.asarray(_output(jnp.eye(setting.n), setting.lam), float)
    ordered = np.sort(output)[::-1]
    levels = (np.cumsum(ordered) - 1) / np.arange(1, setting.n + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]
    return float(np.linalg.norm(output - np.maximum(output - level, 0)))


LEAVES = exact_claim(
    name="a-difference-leaves-the-hull",
    statement=r"A difference of two maps reaches outputs that are $\lambda$ away from every mean of orthonormal "
    r"values.",
    source="mathematics/sharpness.md#a-difference-leaves-the-hull; Ye et al. 2024",
    hypotheses=at_least(n=3, lam=0.05) | at_most(n=1024, lam=1),
    predict=lambda s: Interval.point(theory.furthest(s.lam)),
    draw=_distance,
    # Weights are exact but for n e^-60 and the rounding of lambda; distances move by no more than the output.
    rounding=lambda s: 8 * EPS,
    settings=tuple(Apart(n=16, lam=lam) for lam in (0.2, 0.5, 0.8)),
    rival=Rival(
        statement=r"They are $\lambda/\sqrt n$ away.",
        source="the distance of weights that sum to 1 - lambda from the plane of those that sum to one",
        predict=lambda s: Interval.point(theory.distance_of_the_plane(s.n, s.lam)),
    ),
)

MEANS = foil(
    LEAVES,
    name="a-difference-is-a-mean-of-values",
    statement="What a difference of two maps gives is nearer than a tenth to some weighted mean of the values.",
    source="mathematics/sharpness.md#a-difference-leaves-the-hull, what is true of each of the maps",
    predict=Interval.at_most(0.1),
    settings=LEAVES.settings[1:],
)

CLAIMS = (LEAVES, MEANS)
