"""What a memory of outer products recalls: a sum, the delta rule, powers and positive features, gates."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.memory import delta_rule, features, gates, sums

CLAIMS: tuple[Claim, ...] = (*sums.CLAIMS, *delta_rule.CLAIMS, *features.CLAIMS, *gates.CLAIMS)
