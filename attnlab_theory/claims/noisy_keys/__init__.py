"""Keys that are drawn around their means: one head, two heads, many heads."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.noisy_keys import (
    best_query,
    drawn_scores,
    many_heads,
    moments,
    one_head,
    small_noise,
    two_heads,
)

CLAIMS: tuple[Claim, ...] = (
    *small_noise.CLAIMS,
    *one_head.CLAIMS,
    *two_heads.CLAIMS,
    *many_heads.CLAIMS,
    *moments.CLAIMS,
    *drawn_scores.CLAIMS,
    *best_query.CLAIMS,
)
