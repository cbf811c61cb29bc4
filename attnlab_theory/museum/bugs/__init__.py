"""The bugs, by what they break. Wrong code carries no docstring: its `Bug` tells its story."""

from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.bugs import caches, heads, masks, mixers, rotations, samples, sharing, weights

BUGS: tuple[Bug, ...] = (
    *masks.BUGS,
    *weights.BUGS,
    *caches.BUGS,
    *heads.BUGS,
    *rotations.BUGS,
    *sharing.BUGS,
    *mixers.BUGS,
    *samples.BUGS,
)
"""Every bug of the museum. Explicit: no discovery."""
