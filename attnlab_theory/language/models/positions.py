"""Position schemes of a GPT, which are part of its configuration.

A scheme acts in one of three places: it adds a vector to a token, turns queries and keys, or biases scores.
Positions are [1 t] if all rows of a batch share them, else [b t].
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnlab_theory.attention import alibi_bias, alibi_slopes, rotary, sinusoidal
from attnlab_theory.attention.positions import Layout
from attnlab_theory.language.models.layers import rows_of

At = Int[Array, "rows t"]


@dataclasses.dataclass(frozen=True)
class NoPositions:
    """No scheme: only the causal mask depends on positions. The other schemes override what they do."""

    name: ClassVar[str] = "no positions"
    turns: ClassVar[bool] = False
    """Whether it needs queries and keys."""
    paired: ClassVar[bool] = False
    """Whether it needs an even width."""
    biases: ClassVar[bool] = False
    """Whether it needs scores."""
    bounded: ClassVar[bool] = False
    """Whether it has no position beyond the block."""

    def table(self, block: int, width: int) -> Float[Array, "n c"] | None:
        """The learned table, before training. None if nothing is learned."""
        return None

    def added(self, table: Float[Array, "n c"] | None, at: At, width: int) -> Float[Array, "rows t c"] | None:
        """The vectors that are added to the tokens. None if there are none."""
        return None

    def turned(self, x: Float[Array, "b h t d"], at: At) -> Float[Array, "b h t d"]:
        """Queries or keys at their positions."""
        return x

    def bias(
        self, h: int, queries: Int[Array, "rows t"], keys: Int[Array, "rows s"]
    ) -> Float[Array, "rows h t s"] | None:
        """The biases that are added to the scores. None if there are none."""
        return None


@dataclasses.dataclass(frozen=True)
class Learned(NoPositions):
    """A learned vector for each position is added to the token. It is zero before training."""

    name: ClassVar[str] = "learned positions"
    bounded: ClassVar[bool] = True

    def table(self, block: int, width: int) -> Float[Array, "n c"]:
        """One row per position of the block."""
        return jnp.zeros((block, width))

    def added(self, table: Float[Array, "n c"] | None, at: At, width: int) -> Float[Array, "rows t c"]:
        """The rows of the table. NaN beyond the block."""
        if table is None:
            raise ValueError("learned positions need their table")
        return rows_of(table, at)


@dataclasses.dataclass(frozen=True)
class Sinusoidal(NoPositions):
    """Sines and cosines of the position, added to the token."""

    base: float = 10000.0
    name: ClassVar[str] = "sinusoidal positions"
    paired: ClassVar[bool] = True

    def added(self, table: Float[Array, "n c"] | None, at: At, width: int) -> Float[Array, "rows t c"]:
        """Sinusoids of the width of a token."""
        return jax.vmap(lambda row: sinusoidal(row, width, base=self.base))(at)


@dataclasses.dataclass(frozen=True)
class Rotary(NoPositions):
    """Queries and keys turned by their positions, in every layer."""

    base: float = 10000.0
    layout: Layout = "interleaved"
    name: ClassVar[str] = "rotary positions"
    turns: ClassVar[bool] = True

    def turned(self, x: Float[Array, "b h t d"], at: At) -> Float[Array, "b h t d"]:
        """Every head's rows, turned."""

        def turn(head: Array, row: Array) -> Array:
            return rotary(head, row, base=self.base, layout=self.layout)

        return _over_rows(jax.vmap(turn, (0, None)), x, at)


@dataclasses.dataclass(frozen=True)
class Alibi(NoPositions):
    """Scores lowered by the distance, with a slope of its own for each head."""

    name: ClassVar[str] = "ALiBi"
    biases: ClassVar[bool] = True

    def bias(self, h: int, queries: Int[Array, "rows t"], keys: Int[Array, "rows s"]) -> Float[Array, "rows h t s"]:
        """Minus slope times distance."""
        slopes = jnp.asarray(alibi_slopes(h), jax.dtypes.canonicalize_dtype(float))

        def of_row(queries: Array, keys: Array) -> Array:
            return jax.vmap(lambda slope: alibi_bias(queries, keys, slope=slope))(slopes)

        return jax.vmap(of_row)(queries, keys)


SCHEMES: tuple[type[NoPositions], ...] = (NoPositions, Learned, Sinusoidal, Rotary, Alibi)


def _over_rows(turn: Callable[[Array, Array], Array], x: Array, at: Array) -> Array:
    """`turn(row of x, its positions)` for all rows. Angles that all rows share are computed once."""
    if at.shape[0] == 1:
        return jax.vmap(turn, (0, None))(x, at[0])
    return jax.vmap(turn)(x, at)
