"""What keys, queries and values can do that plain self-attention cannot (section E of the claims)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
