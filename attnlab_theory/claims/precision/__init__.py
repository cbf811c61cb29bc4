"""What few digits do to scores, weights, keys, states and positions."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.precision import (
    centroids,
    formats,
    keys,
    maxima,
    positions,
    scores,
    states,
    weights,
)

CLAIMS: tuple[Claim, ...] = (
    *scores.CLAIMS,
    *positions.CLAIMS,
    *weights.CLAIMS,
    *states.CLAIMS,
    *keys.CLAIMS,
    *centroids.CLAIMS,
    *formats.CLAIMS,
    *maxima.CLAIMS,
)
