"""Which kind a target seems to be, by the names of its parameters alone."""

from typing import Any

from attnlab_theory.conform.kinds import recurrence
from attnlab_theory.conform.kinds.absorption import LATENT
from attnlab_theory.conform.kinds.paged import PAGED
from attnlab_theory.conform.laws import likely as laws
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.positions import likely as positions
from attnlab_theory.conform.sequences import likely as sequences

BY_NEED = {"window": "sliding-window", "softcap": "softcap", "bias": "bias"}
"""The kinds that judge what a parameter does which must be given."""


def likely(about: dict[str, Any]) -> str:
    """A kind; empty if it looks like a function of queries, keys and values.

    Args:
        about: what `Caller.about` says.
    """
    for name, kind in (("paged", PAGED), ("latent", LATENT)):
        if kind.is_told_by(about["parameters"]):
            return name
    # A recurrence has a state as attention has a cache, so its decay is looked for first.
    for each in (positions, laws, recurrence, sequences):
        if kind := each.likely(about):
            return kind
    must = [name.lower() for name, _, required in about["parameters"] or () if required]
    if [name[:1] for name in must[:3]] != ["q", "k", "v"]:
        return ""
    return next((kind for role, kind in BY_NEED.items() if {*must[3:]} & {*OPERANDS[role].spellings}), "")
