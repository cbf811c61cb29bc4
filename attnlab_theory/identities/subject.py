"""A mixer for every case, and the identities that it should keep: one column of the table."""

import dataclasses
import functools
from collections.abc import Callable

import jax
from jaxtyping import Array

from attnlab_theory.attention.mixers import Mixer
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.operators import self_attention_rounding


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A mixer for every case, and which identities it keeps: True if it must, False if it is an exhibit that fails.

    None is neither: the identity makes no sense there, or another mixer shows it already.
    """

    name: str
    build: Callable[[Tokens], Mixer]
    sums_to_one: bool | None = True
    """Whether equal values come out as they went in. None if a normaliser near zero magnifies rounding."""
    in_hull: bool | None = True
    """Whether outputs lie among the values that the query may see."""
    permutes: bool | None = None
    """Whether permuting the tokens permutes the outputs."""
    causal: bool | None = None
    """Whether no output depends on a later token."""
    prefixes: bool | None = None
    """Whether a prefix alone gives what it gives within the whole; needs `rounding`."""
    lengths: tuple[int, ...] = ()
    """At which it is tried beside that of the case: past the blocks that its code works in."""
    rounding: Callable[[Tokens], float] = self_attention_rounding
    """Absolute error of a coordinate of its output; needed where it permutes."""

    @functools.cached_property
    def mix(self) -> Callable[[Tokens], Array]:
        """The mixer of a case on its tokens, compiled once for all identities."""
        return jax.jit(lambda case: self.build(case)(case.x))
