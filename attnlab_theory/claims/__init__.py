"""Room 5: the only place where what is measured meets what is predicted."""

from attnlab_theory.claims import (
    averaging,
    best_query,
    copying,
    exact_moments,
    four_keys,
    key_query_value,
    many_heads,
    one_head,
    positions,
    reachable_weights,
    routing,
    selectable_pairs,
    selection,
    small_noise,
    subspaces,
    three_tokens,
    two_heads,
    word_order,
)
from attnlab_theory.claims.claim import Claim, Finding, Findings, Verdict
from attnlab_theory.claims.judge import check, check_rivals, judge

CLAIMS: tuple[Claim, ...] = (
    *copying.CLAIMS,
    *averaging.CLAIMS,
    *selection.CLAIMS,
    *reachable_weights.CLAIMS,
    *selectable_pairs.CLAIMS,
    *four_keys.CLAIMS,
    *subspaces.CLAIMS,
    *small_noise.CLAIMS,
    *one_head.CLAIMS,
    *two_heads.CLAIMS,
    *many_heads.CLAIMS,
    *exact_moments.CLAIMS,
    *best_query.CLAIMS,
    *three_tokens.CLAIMS,
    *key_query_value.CLAIMS,
    *routing.CLAIMS,
    *word_order.CLAIMS,
    *positions.CLAIMS,
)
"""Every claim of the lab, in the order of the book. Explicit: no discovery."""

__all__ = ["CLAIMS", "Claim", "Finding", "Findings", "Verdict", "check", "check_rivals", "judge"]
