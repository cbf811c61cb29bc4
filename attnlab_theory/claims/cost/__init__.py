"""What layers cost: operations, bytes, the longest chain."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.cost import layers, linear, mixers, recurrence

CLAIMS: tuple[Claim, ...] = (
    *layers.CLAIMS,
    *linear.CLAIMS,
    *mixers.CLAIMS,
    *recurrence.CLAIMS,
)
