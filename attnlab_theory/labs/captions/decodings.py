"""The ways to choose the next token that are compared, by name; nothing here imports jax at once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnlab_theory.labs.captions.rules import DecodingName

if TYPE_CHECKING:
    from attnlab_theory.language.decode import Sampling

FRONTIER: Mapping[DecodingName, Mapping[str, float | int]] = {
    "random": {},
    "random-t0.7": {"temperature": 0.7},
    "top_p0.9": {"top_p": 0.9},
    "top_p0.9-t0.7": {"top_p": 0.9, "temperature": 0.7},
    "random-t0.5": {"temperature": 0.5},
    "random-t0.85": {"temperature": 0.85},
    "random-t1.2": {"temperature": 1.2},
    "top_p0.5": {"top_p": 0.5},
    "top_p0.7": {"top_p": 0.7},
    "top_p0.95": {"top_p": 0.95},
    "top_k5": {"top_k": 5},
    "top_k40": {"top_k": 40},
    "min_p0.05": {"min_p": 0.05},
}
"""A finer frontier of quality against diversity."""


def sampling(name: DecodingName) -> "Sampling":
    """The law that a name stands for.

    Raises:
        ValueError: if there is none.
    """
    from attnlab_theory.language.decode import Sampling

    if name not in FRONTIER:
        raise ValueError(f"a decoding is one of {', '.join(FRONTIER)}, not {name!r}")
    return Sampling(**FRONTIER[name])  # pyright: ignore[reportArgumentType]
