"""How sharp softmax is over random scores, and what a difference of two maps changes."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.sharpness import (
    difference,
    hull,
    needle,
    participation,
    query_norm,
    softcap,
    weak_difference,
)

CLAIMS: tuple[Claim, ...] = (
    *participation.CLAIMS,
    *needle.CLAIMS,
    *query_norm.CLAIMS,
    *softcap.CLAIMS,
    *difference.CLAIMS,
    *weak_difference.CLAIMS,
    *hull.CLAIMS,
)
