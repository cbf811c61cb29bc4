"""Moments of the weights under any covariances (claims D.6)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
