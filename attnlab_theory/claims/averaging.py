"""Averaging a set of values with one query (claims B.2)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
