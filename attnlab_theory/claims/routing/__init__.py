"""Key-query-value attention: which token reads which."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.routing import key_query_value, routing, shared_routing, three_tokens

CLAIMS: tuple[Claim, ...] = (
    *three_tokens.CLAIMS,
    *key_query_value.CLAIMS,
    *routing.CLAIMS,
    *shared_routing.CLAIMS,
)
