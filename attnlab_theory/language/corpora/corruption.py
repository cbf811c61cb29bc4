"""The variants of span corruption. This file imports no jax, so the command line can read it quickly."""

import dataclasses
from typing import Literal, get_args

SHORTEST = 4
"""The fewest characters that truncation keeps."""

MaskLengths = Literal["eighths", "twice-a-quarter", "gauss", "half"]
"""The length of the masked span in a document of L characters. Its mean is L/4. People submit these four:

* ``eighths``: uniform from L/8 to 3L/8, both rounded down;
* ``twice-a-quarter``: uniform from 1 to 2⌊L/4⌋ - 1;
* ``gauss``: normal with mean L/4 and standard deviation 2, rounded, within 0 to L;
* ``half``: uniform from 1 to L/2.
"""

Truncation = Literal["prefix", "window", "none"]
"""Which part of a document is kept:

* ``prefix``: its first characters, as published solutions do;
* ``window``: as many characters from a random place;
* ``none``: as much as fits into the block.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corruption:
    """How documents are corrupted. The defaults are those of the homework."""

    year: Literal[2021, 2024] = 2021
    """Year of the homework. From 2024 on, texts are padded to one character more than the block size."""
    mask_lengths: MaskLengths = "eighths"
    """The length of the masked span, in a text of L characters.
    eighths: from L/8 to 3L/8. twice-a-quarter: from 1 to L/2 - 1. half: from 1 to L/2.
    gauss: normal, with mean L/4 and standard deviation 2."""
    closing: bool = False
    """End the text with a third mask mark, after the masked span. The hand-out's examples do so, its specification
    does not."""
    truncation: Truncation = "prefix"
    """Which part of a document is kept before the span is masked.
    prefix: its beginning, of random length.
    window: a piece of random length, from a random place.
    none: as much as fits into the block."""

    def __post_init__(self):
        for name, allowed in (
            ("year", (2021, 2024)),
            ("mask_lengths", get_args(MaskLengths)),
            ("truncation", get_args(Truncation)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(map(str, allowed))}, not {getattr(self, name)!r}")
