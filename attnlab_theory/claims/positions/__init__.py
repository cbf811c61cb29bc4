"""Positions: word order and rotary scores."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.positions import rotary, word_order

CLAIMS: tuple[Claim, ...] = (
    *word_order.CLAIMS,
    *rotary.CLAIMS,
)
