"""Does an output depend on the length of the whole sequence? A prefix alone is compared with itself in the whole.

Replacing later inputs never changes the length. So two faults show only here: a rotary base that grows with the
length, and a position that is given as t/T. With them, the outputs of a prompt change when tokens are appended.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

from attnlab_theory.identities.adapters import Function, adapted
from attnlab_theory.identities.leaks import Inputs, rounding_of
from attnlab_theory.plurals import agree, several


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prefixes:
    """The outputs of prefixes alone, against the same outputs within the whole."""

    moved: Float[np.ndarray, " n"]
    """The largest difference for each prefix, by its length from 1. NaN if the function takes no such length."""
    relative: Float[np.ndarray, " n"]
    """The same, divided by the largest number of the call."""
    rounding: float
    """The most that rounding makes of that. Sums over another number of positions are taken in another order."""

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


def prefixes(mixer: Function, x: Inputs, *, lengths: Iterable[int] | None = None) -> Prefixes:
    """Give a mixer prefixes of its inputs.

    Args:
        mixer: a function of [length width] to [length v], of numpy, jax or torch arrays.
        x: the tokens, at least two; or their numbers, [length].
        lengths: of the prefixes; by default every length.

    Raises:
        ValueError: if the mixer fails on all of x.
    """
    given = adapted(mixer, x)[1]
    whole, length = given.astype(np.float64), len(x)
    moved, relative = np.full((2, length - 1), np.nan)
    for n in range(1, length) if lengths is None else lengths:
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
    """What the differences mean, in a line."""
    tried, length = int(np.sum(found.tried)), len(found.moved) + 1
    if not tried:
        return f"Prefixes were not tried: the function takes {several(length, 'position')} and no fewer."
    if found.depends:
        prefix, moved = found.worst
        return (
            f"Outputs depend on the length of the whole: of {first(prefix)} alone they differ by up "
            f"to {moved:.3g} from those within {length}."
        )
    gives = agree(
        tried, "prefix alone gives the outputs that it gives", "prefixes alone give the outputs that they give"
    )
    others = f"; it takes no others of the {length - 1}" * (tried < length - 1)
    return f"{tried} of {length - 1} {gives} within the whole, to rounding{others}."


def first(positions: int) -> str:
    """The first of some positions, in words."""
    return f"the first {agree(positions, 'position', f'{positions} positions')}"
