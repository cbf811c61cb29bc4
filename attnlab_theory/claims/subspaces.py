"""Extracting one summand from a sum of two (section C of the claims)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
