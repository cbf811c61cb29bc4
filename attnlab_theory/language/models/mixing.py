"""Layers that mix tokens, with any scores: in one pass, or one token at a time over a cache."""

import abc
import dataclasses
import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory import refuse
from attnlab_theory.attention import causal_mask
from attnlab_theory.attention.caching import Kept
from attnlab_theory.attention.mixers import Mask, refuse_mask
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.layers import Linear, at_least_single, keys_of
from attnlab_theory.language.models.positions import NoPositions
from attnlab_theory.language.models.tape import Offer, Walk, tape
from attnlab_theory.language.models.weighing import Place, weighted_means


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    """What a mixing layer must know about the model around it."""

    width: int
    heads: int
    block: int
    dropout: float
    positions: NoPositions

    @property
    def head_width(self) -> int:
        """The width of queries, keys and values in one head."""
        return self.width // self.heads


class Parts(NamedTuple):
    """Queries, keys and values of tokens, by head. Queries and keys have width 0 if the scores need none."""

    q: Float[Array, "b h t m"]
    k: Float[Array, "b h t n"]
    v: Float[Array, "b h t d"]


class Slot(NamedTuple):
    """The slot for one more token of every row, and the slots that it sees. One row may stand for all."""

    number: Int[Array, ""]
    """The slot, the same for all rows even where their tokens stand at different positions."""
    at: Int[Array, "rows 1"]
    """The positions of the tokens."""
    keys: Int[Array, "rows s"]
    """The positions of what the slots hold."""
    seen: Bool[Array, "rows 1 s"]
    """Which slots are seen. The others may hold anything finite."""


class Pairs(NamedTuple):
    """The positions of queries and keys. One row may stand for all."""

    queries: Int[Array, "rows t"]
    keys: Int[Array, "rows s"]
    first: int | None = None
    """The first query's position, if queries stand at this and the next positions and keys at 0, 1, 2, …."""


class MixingLayer(eqx.Module):
    """A layer from tokens to tokens. Each output depends on the tokens that its position may see.

    Called with one row, it is a `Mixer`, so identities and the leak detector can be tried on it.
    """

    inputs: eqx.AbstractVar[Linear]
    out: eqx.AbstractVar[Linear]
    shape: eqx.AbstractVar[Shape]

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return type(self).__name__

    @property
    def causal(self) -> bool:
        """Whether it claims that no output depends on a later token."""
        return True

    @property
    def masked(self) -> bool:
        """Whether it can honour a mask."""
        return False

    def __call__(self, x: Float[Array, "t c"], mask: Mask = None) -> Float[Array, "t c"]:
        """Mix the tokens of one row, as in evaluation.

        Args:
            x: tokens at positions 0, 1, 2, ….
            mask: which tokens each token sees, at least one. A causal layer adds its own mask.

        Raises:
            ValueError: if a mask is given to a layer that cannot honour it.
        """
        refuse.wrong_rank(2, x=x)
        refuse_mask(self, mask)
        t = x.shape[0]
        seen = causal_mask(t) if self.causal else jnp.ones((t, t), bool)
        seen = seen if mask is None else seen & mask
        place = Place(jnp.arange(t)[None], seen[None], counted=True, packed=False)
        return self.whole(x[None], place, None)[0][0]

    @abc.abstractmethod
    def whole(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "b t c"], Kept | None]:
        """The mixed tokens of whole rows, and what a cache would keep."""

    def walk(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> Walk[tuple[Float[Array, "b t c"], Kept | None]]:
        """The same, for a tape. A layer without scores has no places inside."""
        yield from ()
        return self.whole(x, place, key)

    def step(self, x: Float[Array, "b 1 c"], slot: Slot, kept: Kept) -> tuple[Float[Array, "b 1 c"], Kept]:
        """The mixed token of every row, and the cache with that token."""
        raise NotImplementedError(f"{type(self).__name__} keeps no keys and values")

    def merged(self, x: Float[Array, "b h t d"]) -> Float[Array, "b t c"]:
        """The heads side by side, through the last projection."""
        return self.out(jnp.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], -1))

    def cut(self, x: Float[Array, "b t e"]) -> tuple[Float[Array, "b h t d"], ...]:
        """The stacks of heads in an input projection: as many as its width holds widths of the model."""
        b, t, width = x.shape
        # The gradient of a split is one concatenation; that of slices is a sum of padded arrays.
        stacks = lax.split(x, [self.shape.width] * (width // self.shape.width), axis=2)
        return tuple(
            jnp.swapaxes(stack.reshape(b, t, self.shape.heads, self.shape.head_width), 1, 2) for stack in stacks
        )


HALVED = 64
"""From this many tokens on, the first half of a row is scored against itself alone, which saves a quarter."""


class ScoredLayer(MixingLayer):
    """A layer whose weights are a softmax of scores."""

    @property
    def masked(self) -> bool:
        """Scores can be masked."""
        return True

    @abc.abstractmethod
    def parts(self, x: Float[Array, "b t c"], at: Int[Array, "rows t"]) -> Parts:
        """Queries, keys and values of tokens at their positions."""

    @abc.abstractmethod
    def scores(
        self, q: Float[Array, "b h t m"], k: Float[Array, "b h s n"], pairs: Pairs
    ) -> Float[Array, "rows h t s"]:
        """The score of every query for every key, before the mask and any bias."""

    def whole(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "b t c"], Kept]:
        """The mixed tokens of whole rows, and their keys and values."""
        return tape(self.walk(x, place, key)).end

    def walk(
        self, x: Float[Array, "b t c"], place: Place, key: PRNGKeyArray | None
    ) -> Walk[tuple[Float[Array, "b t c"], Kept]]:
        """The same, for a tape. Weights that are replaced are not dropped."""
        q, k, v = self.parts(x, place.at)
        q = yield Offer("q", q)
        k = yield Offer("k", k)
        v = yield Offer("v", v)
        parts = Parts(q, k, v)
        weights = yield Offer("weights", lambda: self.weights(parts, place), aside=True)
        means = self.mixed(parts, place, key) if weights is None else jnp.matmul(weights.astype(v.dtype), v)
        means = yield Offer("means", means)
        return self.merged(means), Kept(k, v)

    def mixed(self, parts: Parts, place: Place, key: PRNGKeyArray | None) -> Float[Array, "b h t d"]:
        """The means of the values, head by head."""
        t = parts.v.shape[2]
        cuts = (0, t // 2, t) if t >= HALVED else (0, t)
        blocks = list(itertools.pairwise(cuts))
        means = []
        for (start, end), noise in zip(blocks, keys_of(key, len(blocks)), strict=True):
            scores = self._scores_of(parts, place, start, end)
            seen = place.mask[:, start:end, :end]
            means.append(weighted_means(scores, parts.v[:, :, :end], seen, rate=self.shape.dropout, key=noise))
        return jnp.concatenate(means, axis=2)

    def weights(self, parts: Parts, place: Place) -> Float[Array, "rows h t t"]:
        """The weights that every token gives to each token. Rows sum to one."""
        scores = self._scores_of(parts, place, 0, parts.v.shape[2])
        return jax.nn.softmax(jnp.where(place.mask[:, None], at_least_single(scores), -jnp.inf), axis=3)

    def step(self, x: Float[Array, "b 1 c"], slot: Slot, kept: Kept) -> tuple[Float[Array, "b 1 c"], Kept]:
        """The mixed token of every row, from the slots that it sees, and the cache with that token."""
        parts = self.parts(x, slot.at)
        kept = kept.written(parts.k, parts.v, slot.number)
        scores = self._biased(parts.q, kept.k, Pairs(slot.at, slot.keys))
        means = weighted_means(scores, kept.v, slot.seen, rate=0.0, key=None)
        return self.merged(means), kept

    def _scores_of(self, parts: Parts, place: Place, start: int, end: int) -> Array:
        """The scores of the queries from `start` up to `end`, for all keys before `end`."""
        pairs = Pairs(place.at[:, start:end], place.at[:, :end], start if place.counted else None)
        return self._biased(parts.q[:, :, start:end], parts.k[:, :, :end], pairs)

    def _biased(self, q: Array, k: Array, pairs: Pairs) -> Array:
        scores = self.scores(q, k, pairs)
        bias = self.shape.positions.bias(self.shape.heads, pairs.queries, pairs.keys)
        return scores if bias is None else scores + bias.astype(scores.dtype)
