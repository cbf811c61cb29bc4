"""A soft cap bends long before it caps (docs/mathematics/sharpness.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.sharpness import softcap as theory

EPS = float(np.finfo(np.float32).eps)


class Capped(Setting):
    """Two scores, this one and 0, under a cap."""

    score: float
    cap: float


@jax.jit
def _weights(score: Scalar, cap: Scalar) -> Float[Array, " s"]:
    return attention_weights(jnp.ones((1, 1)), jnp.array([[score], [0.0]]), scale=1.0, softcap=cap)[0]


def _lost(key: PRNGKeyArray, setting: Capped) -> float:
    del key
    weights = np.asarray(_weights(setting.score, setting.cap), float)
    return float(np.exp(setting.score) / (weights[0] / weights[1]))


def _rounding(setting: Capped) -> float:
    """The capped score errs by 4 eps of itself: a quotient, tanh, a product, a difference. Weights err by 4 eps."""
    lost = theory.lost_odds(setting.score, setting.cap)
    return EPS * (4 * min(setting.score, setting.cap) + 16) * lost


BENDS = exact_claim(
    name="softcap-bends-early",
    statement=r"A cap $c\tanh(s/c)$ divides the odds of a score $s$ against 0 by $e^{s - c\tanh(s/c)}$: by 2.73 at "
    "$s = 20$ and $c = 50$.",
    source="mathematics/sharpness.md#a-soft-cap-bends-early; Gemma Team 2024",
    hypotheses=at_least(score=1) | at_most(score=80, cap=80) | more_than(cap=0),
    predict=lambda s: Interval.point(theory.lost_odds(s.score, s.cap)),
    draw=_lost,
    rounding=_rounding,
    settings=(
        *(Capped(score=score, cap=50.0) for score in (10.0, 20.0, 30.0, 40.0)),
        Capped(score=20.0, cap=30.0),
    ),
    rival=Rival(
        statement="Below the cap no odds change.",
        source="a hard clip in the place of the soft one",
        predict=lambda s: Interval.point(theory.lost_odds_of_a_clip(s.score, s.cap)),
    ),
)

ALONE = foil(
    BENDS,
    name="a-cap-of-50-leaves-scores-of-20-alone",
    statement="A cap of 50 changes the odds of a score of 20 by less than one per cent.",
    source="mathematics/sharpness.md#a-soft-cap-bends-early; Gemma Team 2024, a limit read as no change below it",
    predict=Interval(0.99, 1.01),
    settings=BENDS.settings[1:2],
)

CLAIMS = (BENDS, ALONE)
