"""Leaks at the lengths where blocks end: a mixer that is causal for twelve positions may not be for 130.

A kernel works in blocks of 16, 64 or 128. What is wrong inside a full block, or past its edge, is not there in a
shorter sequence.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attnlab_theory.identities.adapters import Function, adapted
from attnlab_theory.identities.leaks import EDGES, Inputs, Leaks, Replacing, leaks
from attnlab_theory.identities.prefixes import Prefixes, first, prefixes
from attnlab_theory.plurals import several

LENGTHS = (17, 65, 130)
"""Numbers of positions: one more than a block of 16, one more than one of 64, two more than one of 128."""

BLOCKS = (16, 64, 128)
"""The usual sizes of blocks."""

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
    longest: int | None
    """The longest length that it takes, if that is less than the longest of `LENGTHS`."""

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
        but: a length that it takes, and that need not be tried again.

    Source: docs/mathematics/identities.md#causality.
    """
    found: dict[int, Leaks] = {}
    refused: dict[int, str] = {}

    def look(n: int) -> None:
        if n != but:
            found[n] = leaks(mixer, inputs(n), replacing, cuts=[cut for cut in EDGES if cut < n])

    for n in LENGTHS:
        try:
            look(n)
        except ValueError as error:
            refused[n] = str(error).partition("\n")[0]
            # Windows take whole ones only.
            with contextlib.suppress(ValueError):
                look(-(-n // but) * but if but else n)
    longest = None
    if refused and (taken := max(*found, but, 0)) < min(refused):
        longest = _longest(mixer, inputs, taken, min(refused))
        if longest and longest not in found:
            look(longest)
    alone = None
    if (most := max(found, default=0)) >= LENGTHS[-1]:
        alone = prefixes(mixer, inputs(most), lengths=WHOLE_BLOCKS)
    return Edges(leaks=found, prefixes=alone, refused=refused, longest=longest or None)


def _longest(mixer: Function, inputs: Callable[[int], Inputs], taken: int, refused: int) -> int:
    """The longest length that a function takes, between one that it took and one that it did not."""
    while refused - taken > 1:
        middle = (taken + refused) // 2
        try:
            adapted(mixer, inputs(middle))
            taken = middle
        except ValueError:
            refused = middle
    return taken


def sentences(found: Edges) -> list[str]:
    """What was found, in lines for people."""
    lines = []
    lengths = sorted(found.leaks)

    def listed(numbers: Iterable[int]) -> str:
        return " and ".join(", ".join(map(str, numbers)).rsplit(", ", 1))

    leaky = [n for n in lengths if not found.leaks[n].clean]
    for n in leaky:
        output, movement = found.leaks[n].worst
        lines.append(f"Leak at length {n}: output {output} moves with the future by up to {movement:.3g}.")
    if lengths and not leaky:
        blocks = [size for size in BLOCKS if size < lengths[-1]]
        ends = f"blocks of {', '.join(map(str, blocks[:-1]))} and {blocks[-1]} end" if blocks[1:] else ""
        where = f", where {ends or f'a block of {blocks[0]} ends'}" if blocks else ""
        lines.append(f"No leak at length{'s' * (len(lengths) > 1)} {listed(lengths)} either{where}.")
    if found.prefixes is not None and found.prefixes.depends:
        prefix, moved = found.prefixes.worst
        lines.append(
            f"Outputs depend on the length of the whole: of {first(prefix)} alone they differ by up "
            f"to {moved:.3g} from those within {lengths[-1]}."
        )
    if found.refused:
        n, said = next(iter(found.refused.items()))
        most = f"It takes at most {several(found.longest, 'position')}. " if found.longest else ""
        lines.append(f"{most}Not tried at {listed(found.refused)} positions: {said}")
    return lines


def as_json(found: Edges) -> dict[str, Any]:
    """What was found as plain values."""
    return {
        "clean": found.clean,
        "lengths": list(found.leaks),
        "leaks_at": [n for n, each in found.leaks.items() if not each.clean],
        "depends_on_length": found.prefixes is not None and found.prefixes.depends,
        "longest": found.longest,
        "not_tried": dict(found.refused),
    }
