"""Leaks at the lengths where blocks end: a mixer that is causal for twelve positions may not be for 130.

A kernel works in blocks of 16, 64 or 128. What is wrong inside a full block, or past its edge, is not there in a
shorter sequence.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from attnlab_theory.identities.adapters import Function
from attnlab_theory.identities.leaks import EDGES, Inputs, Leaks, Replacing, leaks
from attnlab_theory.identities.prefixes import Prefixes, prefixes

LENGTHS = (17, 65, 130)
"""Numbers of positions: one more than a block of 16, one more than one of 64, two more than one of 128."""

WHOLE_BLOCKS = (16, 17, 64, 65, 128)
"""Prefixes that are compared with the longest sequence: whole blocks, and one more."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Edges:
    """What was found at several lengths."""

    leaks: Mapping[int, Leaks]
    """The leaks by length, for each length that the function took."""
    prefixes: Prefixes | None
    """The prefixes against the longest sequence. None if the function did not take it."""
    refused: Mapping[int, str]
    """Lengths that the function did not take, and what it said."""

    @property
    def clean(self) -> bool:
        """Whether there is no leak at any of the lengths, and no output depends on the length."""
        dependent = self.prefixes is not None and self.prefixes.depends
        return not dependent and all(found.clean for found in self.leaks.values())


def edges(
    mixer: Function, inputs: Callable[[int], Inputs], replacing: Replacing | None = None, *, but: int = 0
) -> Edges:
    """Replace all that follows on the edge of a block, at lengths that overrun blocks of 16, 64 and 128.

    Args:
        mixer: a function of [length width] to [length v], of numpy, jax or torch arrays.
        replacing: from inputs, start and stop to inputs with those rows replaced; by default `replacements`.
        inputs: of a length, the first of those of any other.
        but: a length that need not be tried again.

    Source: docs/mathematics/identities.md#causality.
    """
    found: dict[int, Leaks] = {}
    refused: dict[int, str] = {}
    for n in LENGTHS:
        if n == but:
            continue
        try:
            found[n] = leaks(mixer, inputs(n), replacing, cuts=[cut for cut in EDGES if cut < n])
        except ValueError as error:
            refused[n] = str(error).partition("\n")[0]
    longest = LENGTHS[-1]
    alone = prefixes(mixer, inputs(longest), lengths=WHOLE_BLOCKS) if longest in found else None
    return Edges(leaks=found, prefixes=alone, refused=refused)


def sentences(found: Edges) -> list[str]:
    """What was found, in lines for people."""
    lines = []
    tried = " and ".join(", ".join(map(str, found.leaks)).rsplit(", ", 1))
    leaky = [n for n, each in found.leaks.items() if not each.clean]
    for n in leaky:
        output, movement = found.leaks[n].worst
        lines.append(f"Leak at length {n}: output {output} moves with the future by up to {movement:.3g}.")
    if found.leaks and not leaky:
        lines.append(f"No leak at lengths {tried} either, where blocks of 16, 64 and 128 end.")
    if found.prefixes is not None and found.prefixes.depends:
        prefix, moved = found.prefixes.worst
        lines.append(
            f"Outputs depend on the length of the whole: of the first {prefix} positions alone they differ by up "
            f"to {moved:.3g} from those within {LENGTHS[-1]}."
        )
    if found.refused:
        n, said = next(iter(found.refused.items()))
        lines.append(f"Not tried at {', '.join(map(str, found.refused))} positions: {said}")
    return lines


def as_json(found: Edges) -> dict[str, Any]:
    """What was found as plain values."""
    return {
        "clean": found.clean,
        "lengths": list(found.leaks),
        "leaks_at": [n for n, each in found.leaks.items() if not each.clean],
        "depends_on_length": found.prefixes is not None and found.prefixes.depends,
        "not_tried": dict(found.refused),
    }
