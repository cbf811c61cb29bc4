"""A clip that holds for the scores that were seen (docs/mathematics/sinks.md)."""

import enum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.sinks import clipping as theory

LIMIT = 100.0
"""The largest score that the clip allows among those seen."""

MOST_FRESH = 256


class Scores(enum.StrEnum):
    """A law of one score."""

    NORMAL = "normal"
    CAUCHY = "Cauchy"


class Clipped(Setting):
    """So many scores that were seen, so many fresh ones, all independent of one law."""

    seen: int
    fresh: Traced[int]
    law: Scores


def _exceeds(key: PRNGKeyArray, setting: Clipped) -> Bool[Array, ""]:
    sample = jax.random.normal if setting.law is Scores.NORMAL else jax.random.cauchy
    keys, q = sample(key, (setting.seen + MOST_FRESH, 1)), jnp.ones((1, 1))
    # Two rounds of keys: the scale is chosen by the first, and rests for the second.
    largest = jnp.max(attention_scores(q, keys[: setting.seen], scale=1.0))
    scale = LIMIT / largest
    scores = attention_scores(q, keys[setting.seen :], scale=scale)[0]
    return jnp.max(jnp.where(jnp.arange(MOST_FRESH, dtype=float) < setting.fresh, scores, -jnp.inf)) > LIMIT


CLIP = Claim(
    name="a-clip-holds-for-what-was-seen",
    statement=r"Scale scores so that the largest of $N$ seen is $T$. The largest of $M$ fresh ones of the same "
    r"law exceeds $T$ with the chance $M/(M + N)$, whatever the law.",
    source="mathematics/sinks.md#a-clip-holds-for-what-was-seen; Kimi Team 2025",
    hypotheses=at_least(seen=48, fresh=1) | at_most(seen=1024, fresh=MOST_FRESH),
    predict=lambda s: Interval.point(theory.chance_of_a_record(s.seen, s.fresh)),
    draw=_exceeds,
    bound=proportion(),
    resolution=0.03,
    settings=(
        Clipped(seen=64, fresh=64, law=Scores.NORMAL),
        Clipped(seen=64, fresh=64, law=Scores.CAUCHY),
        Clipped(seen=64, fresh=16, law=Scores.NORMAL),
        Clipped(seen=64, fresh=256, law=Scores.NORMAL),
    ),
    rival=Rival(
        statement=r"Never: clipped scores stay below $T$.",
        source="Kimi Team 2025, the limit of a clip read as one of the scores to come",
        predict=Interval.point(0.0),
    ),
)

BELOW = foil(
    CLIP,
    name="clipped-scores-stay-below-tau",
    statement="In at most one of twenty batches a score exceeds the limit that the last batch of equal size met.",
    source="mathematics/sinks.md#a-clip-holds-for-what-was-seen; Kimi Team 2025, the same",
    predict=Interval.at_most(0.05),
    settings=CLIP.settings[:2],
)

CLAIMS = (CLIP, BELOW)
