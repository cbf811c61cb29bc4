"""Claims: sentences with a number that is predicted, measured and judged."""

from attnlab_theory.claims import (
    cost,
    features,
    limits,
    memory,
    noisy_keys,
    positions,
    precision,
    recency,
    routing,
    selecting,
    selection,
    shared_keys,
    sharpness,
    sinks,
    sparse,
)
from attnlab_theory.claims.claim import Claim, ControlFinding, Finding, Findings, Rival, Verdict, exact_claim, foil
from attnlab_theory.claims.judging import check, check_rivals, judge
from attnlab_theory.claims.measuring import Measurement, measure
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.claims.statement import Beyond, Control, Identity, Instead, Paired, Statement

CLAIMS: tuple[Claim, ...] = (
    *selecting.CLAIMS,
    *noisy_keys.CLAIMS,
    *routing.CLAIMS,
    *positions.CLAIMS,
    *features.CLAIMS,
    *cost.CLAIMS,
    *limits.CLAIMS,
    *sparse.CLAIMS,
    *memory.CLAIMS,
    *selection.CLAIMS,
    *shared_keys.CLAIMS,
    *recency.CLAIMS,
    *sinks.CLAIMS,
    *sharpness.CLAIMS,
    *precision.CLAIMS,
)
"""Every claim of the lab, in the order of the book. The list is written by hand: no folder is searched for
claims."""

__all__ = [
    "CLAIMS",
    "Beyond",
    "Claim",
    "Control",
    "ControlFinding",
    "Finding",
    "Findings",
    "Identity",
    "Instead",
    "Measurement",
    "Paired",
    "Rival",
    "Setting",
    "Statement",
    "Traced",
    "Verdict",
    "check",
    "check_rivals",
    "exact_claim",
    "foil",
    "judge",
    "measure",
]
