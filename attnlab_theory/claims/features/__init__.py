"""Random features: their means, variances, couplings, and a row of attention made of them."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.features import (
    bias,
    coupling,
    infinite_variance,
    normaliser,
    phase,
    rows,
    stabilisers,
    variance,
)

CLAIMS: tuple[Claim, ...] = (
    *bias.CLAIMS,
    *variance.CLAIMS,
    *infinite_variance.CLAIMS,
    *coupling.CLAIMS,
    *phase.CLAIMS,
    *normaliser.CLAIMS,
    *rows.CLAIMS,
    *stabilisers.CLAIMS,
)
