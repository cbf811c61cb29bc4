"""Whether an output depends on how long the whole sequence is: a prefix alone against the same prefix within it.

Replacing later inputs never changes the length. So a rotary base that grows with the length, or a position that is
given as t/T, shows here alone: what a model says of a prompt changes when tokens are appended.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from attnlab_theory.identities.adapters import Function, adapted
from attnlab_theory.identities.leaks import Inputs, rounding_of


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prefixes:
    """The outputs of prefixes alone, against the same outputs within the whole."""

    moved: Float[np.ndarray, " n"]
    """By the length of the prefix, from 1: the largest difference. NaN where the function takes no such length."""
    relative: Float[np.ndarray, " n"]
    """The same in parts of the largest number of the call."""
    rounding: float
    """What rounding may make of that: sums over another number of positions are taken in another order."""

    @property
    def tried(self) -> Bool[np.ndarray, " n"]:
        """The prefixes that the function took."""
        return ~np.isnan(self.relative)

    @property
    def depends(self) -> bool:
        """Whether an output depends on the length of the whole."""
        return bool(np.any(self.relative > self.rounding))

    @property
    def worst(self) -> tuple[int, float]:
        """The prefix whose outputs differ most, and by how much."""
        at = int(np.nanargmax(np.where(self.tried, self.relative, -1.0)))
        return at + 1, float(self.moved[at])


def prefixes(mixer: Function, x: Inputs) -> Prefixes:
    """Give a mixer every prefix of its inputs.

    Args:
        mixer, x: as of `leaks`.

    Raises:
        ValueError: if the mixer fails on all of x.
    """
    given = adapted(mixer, x)[1]
    whole, length = given.astype(np.float64), len(x)
    moved, relative = np.full((2, length - 1), np.nan)
    for n in range(1, length):
        try:
            alone = adapted(mixer, x[:n])[1].astype(np.float64)
        except ValueError:
            continue
        if alone.shape[1] != whole.shape[1]:
            # What has a column for each position, as weights have, is compared where both have one.
            columns = min(alone.shape[1], whole.shape[1])
            alone, compared = alone[:, :columns], whole[:n, :columns]
        else:
            compared = whole[:n]
        moved[n - 1] = np.max(np.abs(alone - compared))
        relative[n - 1] = moved[n - 1] / max(np.max(np.abs(x)), np.max(np.abs(whole)))
    width = x.shape[1] if x.ndim == 2 else 1
    # Inner products of the width are summed over the length, and a softmax multiplies their error by their size.
    rounding = rounding_of((x.dtype, given.dtype), 16 * length * max(width, 8))
    return Prefixes(moved=moved, relative=relative, rounding=rounding)


def sentence(found: Prefixes) -> str:
    """What it means, in a line for people."""
    tried, length = int(np.sum(found.tried)), len(found.moved) + 1
    if not tried:
        return f"Prefixes were not tried: the function takes {length} positions and no fewer."
    if found.depends:
        prefix, moved = found.worst
        return (
            f"Outputs depend on the length of the whole: of the first {prefix} positions alone they differ by up "
            f"to {moved:.3g} from those within {length}."
        )
    return f"{tried} of {length - 1} prefixes alone give the outputs that they give within the whole, to rounding."
