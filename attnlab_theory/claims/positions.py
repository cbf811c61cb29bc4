"""Permutations and rotary scores (section F of the claims)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
