"""Two heads hedge, and it is the queries that do it (claims D.3, D.4)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
