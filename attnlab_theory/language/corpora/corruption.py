"""The variants of span corruption: words alone, which the command line reads before it imports jax."""

import dataclasses
from typing import Literal, get_args

SHORTEST = 4
"""Characters that truncation leaves at least."""

MaskLengths = Literal["eighths", "twice-a-quarter", "gauss", "half"]
"""How long the hole is in a document of L characters, a quarter of L on average; four that people submit:

* ``eighths``: uniform from L/8 to 3L/8, both rounded down;
* ``twice-a-quarter``: uniform from 1 to 2⌊L/4⌋ - 1;
* ``gauss``: normal with mean L/4 and standard deviation 2, rounded, within 0 to L;
* ``half``: uniform from 1 to L/2.
"""

Truncation = Literal["prefix", "window", "none"]
"""What is kept of a document: its first characters, as published solutions do; as many from a random place;
or as much as fits, without drawing a length."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corruption:
    """How documents are corrupted; the defaults are the homework's."""

    year: Literal[2021, 2024] = 2021
    """2021 to 2023 the text is padded to the block size, from 2024 to one more: x and y are that one longer."""
    mask_lengths: MaskLengths = "eighths"
    """How long the hole is."""
    closing: bool = False
    """A third mark behind the missing text, as in the hand-out's examples but not in its specification."""
    truncation: Truncation = "prefix"
    """What is kept of a document before the hole is cut."""

    def __post_init__(self):
        for name, allowed in (
            ("year", (2021, 2024)),
            ("mask_lengths", get_args(MaskLengths)),
            ("truncation", get_args(Truncation)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(map(str, allowed))}, not {getattr(self, name)!r}")
