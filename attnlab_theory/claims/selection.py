"""Which sets of keys a query can select, and which weights it can reach (claims B.3)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
