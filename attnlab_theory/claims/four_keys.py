"""The four keys of UW's homework and the answers submitted for them (claims B.4)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
