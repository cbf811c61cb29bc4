"""Attention that leaves most scores out: Linformer, BigBird, synthesizers."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.sparse import bigbird, hearing, linformer, synthesizers

CLAIMS: tuple[Claim, ...] = (
    *linformer.CLAIMS,
    *bigbird.CLAIMS,
    *hearing.CLAIMS,
    *synthesizers.CLAIMS,
)
