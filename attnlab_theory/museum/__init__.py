"""The bug museum: well-known bugs, planted on purpose, and the checks that catch them."""

from attnlab_theory.museum.bug import FOLKLORE, Bug
from attnlab_theory.museum.bugs import BUGS
from attnlab_theory.museum.trial import (
    Evidence,
    evidence_of,
    idle_checks,
    idle_families,
    kill_matrix,
    survivors,
)

__all__ = [
    "BUGS",
    "FOLKLORE",
    "Bug",
    "Evidence",
    "evidence_of",
    "idle_checks",
    "idle_families",
    "kill_matrix",
    "survivors",
]
