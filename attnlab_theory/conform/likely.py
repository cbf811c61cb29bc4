"""Which kind a target seems to be, by the names of its parameters alone."""

from typing import Any

from attnlab_theory.conform.attention import likely as attention
from attnlab_theory.conform.kinds import recurrence
from attnlab_theory.conform.laws import likely as laws
from attnlab_theory.conform.positions import likely as positions
from attnlab_theory.conform.sequences import likely as sequences


def likely(about: dict[str, Any]) -> str:
    """A kind; empty if it looks like a function of queries, keys and values.

    Args:
        about: what `Caller.about` says.
    """
    # A recurrence has a state as attention has a cache, so its decay is looked for first.
    for each in (positions, laws, recurrence, sequences, attention):
        if kind := each.likely(about):
            return kind
    return ""
