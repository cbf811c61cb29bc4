"""Scores that are rounded before the softmax (docs/mathematics/precision.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.attention.precision import rounded
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.precision import scores as theory


class Stored(Setting):
    """A score drawn evenly from 2^exponent to twice that, stored in bfloat16."""

    exponent: Traced[int]


def _change_of_odds(key: PRNGKeyArray, setting: Stored) -> Float[Array, ""]:
    power = 2.0**setting.exponent
    score = power * (1 + jax.random.uniform(key))
    # Beside a score in the middle, which bfloat16 holds: odds of either kind stay in the range of float32.
    middle = 1.5 * power
    plain, stored = (
        attention_weights(jnp.ones((1, 1)), jnp.stack([each, middle])[:, None], scale=1.0)[0]
        for each in (score, rounded(score, jnp.bfloat16))
    )
    return ((stored[0] / stored[1]) / (plain[0] / plain[1]) - 1) ** 2


ODDS = Claim(
    name="rounded-scores",
    statement=r"A score between $2^e$ and $2^{e+1}$ that is stored in bfloat16 changes the odds of its weight by a "
    r"factor $e^x$ with $E(e^x - 1)^2 = \sinh(2h)/(2h) - 2\sinh(h)/h + 1$, $h = 2^{e-8}$: 15 per cent at 64 to "
    r"128.",
    source="mathematics/precision.md#rounded-scores",
    hypotheses=at_least(exponent=2) | at_most(exponent=6),
    predict=lambda s: Interval.point(theory.mean_square_of_odds(s.exponent)),
    draw=_change_of_odds,
    bound=lambda s: bounded(0.0, 1.01 * theory.largest_square_of_odds(s.exponent)),
    resolution=lambda s: 0.1 * theory.mean_square_of_odds(s.exponent),
    settings=tuple(Stored(exponent=exponent) for exponent in (3, 4, 5, 6)),
    rival=Rival(
        statement=r"The mean square is $2^{-18}/3$.",
        source="the rounding of one number near one, taken for that of a power of e",
        predict=Interval.point(theory.mean_square_of_one_number()),
    ),
)

UPCAST = foil(
    ODDS,
    name="softmax-in-float32-is-enough",
    statement="A softmax in float32 of scores that were stored in bfloat16 has odds that are wrong by 1 % at most, "
    "root mean square.",
    source="mathematics/precision.md#rounded-scores, tinygrad/tinygrad#7830 and others that cast up before the "
    "softmax",
    predict=Interval.at_most(1e-4),
    settings=ODDS.settings[2:],
)

CLAIMS = (ODDS, UPCAST)
