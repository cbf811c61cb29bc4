"""How many positions bfloat16 tells apart (docs/mathematics/precision.md)."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory.attention import rotary
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.precision import positions as theory


class Positions(Setting):
    """The positions 0 ... 2^octaves - 1, cast to bfloat16."""

    octaves: int


def _told_apart(key: PRNGKeyArray, setting: Positions) -> float:
    del key
    at = jnp.arange(2**setting.octaves, dtype=jnp.float32).astype(jnp.bfloat16).astype(jnp.float32)
    # No two whole positions turn the first pair of a vector to one place.
    turned = np.asarray(rotary(jnp.ones((at.shape[0], 4)), at))
    return float(len(np.unique(turned, axis=0)))


COUNTS = exact_claim(
    name="bf16-counts-to-256",
    statement=r"Of $2^k$ positions, $k > 8$, that are cast to bfloat16, $128(k - 6) + 1$ are different: 769 of "
    r"4,096, and 1,409 of 131,072.",
    source="mathematics/precision.md#bf16-counts-to-256",
    hypotheses=at_least(octaves=9) | at_most(octaves=17),
    predict=lambda s: Interval.point(float(theory.positions_told_apart(s.octaves))),
    draw=_told_apart,
    # A whole number.
    rounding=0.1,
    settings=tuple(Positions(octaves=octaves) for octaves in (9, 12, 17)),
    rival=Rival(
        statement=r"They are $128(k - 6)$.",
        source="the last positions, which round up to the power of two, taken for numbers below it",
        predict=lambda s: Interval.point(float(theory.without_rounding_up(s.octaves))),
    ),
)

SAFE = foil(
    COUNTS,
    name="bf16-has-the-range-so-positions-are-safe",
    statement="All positions below 131,072 stay different in bfloat16, which holds far larger numbers.",
    source="mathematics/precision.md#bf16-counts-to-256, a large range read as many digits",
    predict=lambda s: Interval.point(2.0**s.octaves),
    settings=COUNTS.settings[-1:],
)

CLAIMS = (COUNTS, SAFE)
