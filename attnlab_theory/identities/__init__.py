"""What is true of every input: one counterexample fails an identity."""

from attnlab_theory.identities import (
    agreement,
    causality,
    dense,
    derivatives,
    layers,
    mixers,
    rotation,
    rows,
    several_heads,
    shared_projection,
    sinks,
    symmetry,
    through_time,
)
from attnlab_theory.identities.identity import Identity, Trial, check_identity

IDENTITIES: tuple[Identity, ...] = (
    *rows.IDENTITIES,
    *sinks.IDENTITIES,
    *symmetry.IDENTITIES,
    *derivatives.IDENTITIES,
    *through_time.IDENTITIES,
    *causality.IDENTITIES,
    *agreement.IDENTITIES,
    *several_heads.IDENTITIES,
    *rotation.IDENTITIES,
    *shared_projection.IDENTITIES,
    *mixers.IDENTITIES,
    *dense.IDENTITIES,
    *layers.IDENTITIES,
)
"""Every identity of the lab, in the order of the book. Explicit: no discovery."""


def table() -> dict[str, dict[str, bool]]:
    """Which identity applies to which operator: {family: {subject: whether it must hold}}.

    False marks an exhibit: the subject violates the identity, and is kept to show that. A pair is missing where the
    identity makes no sense: the weights cannot be seen, or the operator takes no mask.
    """
    rows_of: dict[str, dict[str, bool]] = {}
    for identity in IDENTITIES:
        rows_of.setdefault(identity.family, {})[identity.subject] = not identity.broken
    return rows_of


__all__ = ["IDENTITIES", "Identity", "Trial", "check_identity", "table"]
