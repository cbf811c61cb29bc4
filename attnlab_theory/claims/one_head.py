"""One head and one key of uncertain length: the gamble (claims D.2)."""

from attnlab_theory.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
