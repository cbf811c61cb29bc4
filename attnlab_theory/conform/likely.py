"""Which kind a target seems to be, by the names of its parameters alone."""

from typing import Any

from attnlab_theory.conform.positions import likely as positions
from attnlab_theory.conform.sequences import likely as sequences


def likely(about: dict[str, Any]) -> str:
    """A kind; empty if it looks like a function of queries, keys and values.

    Args:
        about: what `Caller.about` says.
    """
    return positions.likely(about) or sequences.likely(about)
