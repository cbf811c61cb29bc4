"""The bugs, by what they break. Wrong code carries no docstring: its `Bug` tells its story."""

from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.bugs import (
    approximations,
    caches,
    masks,
    memories,
    rotations,
    samples,
    sharing,
    sinks,
    split_heads,
    through_time,
    weights,
)

BUGS: tuple[Bug, ...] = (
    *masks.BUGS,
    *weights.BUGS,
    *sinks.BUGS,
    *caches.BUGS,
    *split_heads.BUGS,
    *rotations.BUGS,
    *sharing.BUGS,
    *approximations.BUGS,
    *through_time.BUGS,
    *memories.BUGS,
    *samples.BUGS,
)
"""Every bug of the museum. Explicit: no discovery."""
