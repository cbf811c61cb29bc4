"""Unit keys whose entries are rounded to centroids (docs/mathematics/precision.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.attention.precision import to_nearest
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.precision import centroids as theory


class Centroids(Setting):
    """Keys of width d and length one, rotated at random, their entries rounded to 2^bits centroids."""

    d: int
    bits: int


def _kept(key: PRNGKeyArray, setting: Centroids) -> Float[Array, ""]:
    """The score of a key with what is stored of it, whose score with itself is one."""
    keys = jax.random.normal(key, (1, setting.d))
    keys = keys / jnp.linalg.norm(keys)
    root = setting.d**0.5
    stored = to_nearest(root * keys, theory.normal_centroids(setting.bits)) / root
    return attention_scores(keys, stored, scale=1.0)[0, 0]


COOLS = Claim(
    name="a-centroid-quantiser-cools-scores",
    statement=r"Keys of length one, rotated at random and rounded to the centroids of a normal law, shrink scores "
    r"by $E\langle k, \hat k\rangle$ on average: 0.639, 0.888, 0.969 and 0.992 at 1, 2, 3 and 4 bits, $d = 64$.",
    source="mathematics/precision.md#a-centroid-quantiser-cools-scores; Zandieh et al. 2025",
    hypotheses=at_least(d=3, bits=1) | at_most(d=512, bits=4),
    predict=lambda s: Interval.point(theory.kept_score(s.d, s.bits)),
    draw=_kept,
    # At most the largest centroid of four bits.
    bound=bounded(0.0, 2.8),
    resolution=lambda s: 0.4 * (1 - theory.kept_score(s.d, s.bits)),
    settings=tuple(Centroids(d=64, bits=bits) for bits in (1, 2, 3, 4)),
    rival=Rival(
        statement="They do not shrink: the error of rounding has the mean 0.",
        source="rounding to the nearest of an even grid",
        predict=Interval.point(1.0),
    ),
)

ALONE = foil(
    COOLS,
    name="least-squares-rounding-leaves-scores-alone",
    statement="At two bits scores keep their size within a twentieth.",
    source="mathematics/precision.md#a-centroid-quantiser-cools-scores; Zandieh et al. 2025, without their "
    "correction",
    predict=Interval(0.95, 1.05),
    settings=COOLS.settings[1:2],
)

CLAIMS = (COOLS, ALONE)
