"""What an attention head cannot do, or only at a price: sharpness, depth, rank, slope, memory, distance."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.limits import (
    dispersal,
    gradients_at_distance,
    hopfield,
    lipschitz,
    low_rank,
    rank_collapse,
)

CLAIMS: tuple[Claim, ...] = (
    *gradients_at_distance.CLAIMS,
    *dispersal.CLAIMS,
    *rank_collapse.CLAIMS,
    *low_rank.CLAIMS,
    *lipschitz.CLAIMS,
    *hopfield.CLAIMS,
)
