"""Copying one value, averaging a set, extracting a subspace: what one query can ask for."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.selecting import (
    averaging,
    copying,
    four_keys,
    reachable_weights,
    selectable_pairs,
    selection,
    subspaces,
)

CLAIMS: tuple[Claim, ...] = (
    *copying.CLAIMS,
    *averaging.CLAIMS,
    *selection.CLAIMS,
    *reachable_weights.CLAIMS,
    *selectable_pairs.CLAIMS,
    *four_keys.CLAIMS,
    *subspaces.CLAIMS,
)
