"""The entry points of the board."""

from attnlab_theory.conform.peers.entries import decoders, layers, on_jax, on_torch, runtimes, sequences
from attnlab_theory.conform.peers.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *on_torch.ENTRIES,
    *on_jax.ENTRIES,
    *runtimes.ENTRIES,
    *layers.ENTRIES,
    *sequences.ENTRIES,
    *decoders.ENTRIES,
)
"""All of them, in the order of the board."""


def entries_of(name: str | None) -> tuple[Entry, ...]:
    """The entry points of a library, or that of a name; all if none is named.

    Raises:
        ValueError: if there is none.
    """
    found = tuple(e for e in ENTRIES if name in (None, e.name, e.library))
    if not found:
        libraries = ", ".join(dict.fromkeys(e.library for e in ENTRIES))
        raise ValueError(f"the board has no {name!r:.60}; it has {libraries}")
    return found
