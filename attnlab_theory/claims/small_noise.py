"""Small isotropic noise in the keys (claims D.1)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
