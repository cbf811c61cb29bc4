"""The encoder: every token of a row in the context of all others, in the layouts of BERT and RoBERTa.

A row is filled up with padding. A mask is True for tokens and False for padding. Neither the content of padding
nor its length has an effect.
"""

from typing import assert_never

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory import refuse
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.config import Gelu
from attnlab_theory.language.models.encoder_config import EncoderConfig, Layout
from attnlab_theory.language.models.layers import (
    LayerNorm,
    Linear,
    dropout,
    first_weights,
    keys_of,
    rows_of,
)
from attnlab_theory.language.models.mixers import SoftmaxLayer
from attnlab_theory.language.models.mixing import Parts, Shape
from attnlab_theory.language.models.tape import Offer, Walk, tape, within
from attnlab_theory.language.models.weighing import Place, weighted_means


class BidirectionalLayer(SoftmaxLayer):
    """Softmax attention in which every token sees all tokens of its row."""

    @property
    def causal(self) -> bool:
        """False: tokens see later tokens too."""
        return False

    def __init__(self, key: PRNGKeyArray, shape: Shape):
        super().__init__(key, shape, stacks=3)

    def mixed(self, parts: Parts, place: Place, key: PRNGKeyArray | None) -> Float[Array, "b h t d"]:
        """The means of the values, head by head."""
        scores = self._scores_of(parts, place, 0, parts.v.shape[2])
        return weighted_means(scores, parts.v, place.mask, rate=self.shape.dropout, key=key)


class EncoderLayer(eqx.Module):
    """Mix, add and normalise; transform each token, add and normalise."""

    mixing: BidirectionalLayer
    ln_1: LayerNorm
    into: Linear
    back: Linear
    ln_2: LayerNorm
    rate: float = eqx.field(static=True)
    gelu: Gelu = eqx.field(static=True)

    def __init__(self, config: EncoderConfig, key: PRNGKeyArray):
        mixing, into, back = jax.random.split(key, 3)
        self.mixing = BidirectionalLayer(mixing, config.shape)
        self.ln_1 = LayerNorm(config.width, epsilon=config.epsilon)
        self.into = Linear(into, config.width, config.hidden_width)
        self.back = Linear(back, config.hidden_width, config.width)
        self.ln_2 = LayerNorm(config.width, epsilon=config.epsilon)
        self.rate, self.gelu = config.dropout, config.gelu

    def walk(self, x: Float[Array, "b t c"], where: Place, key: PRNGKeyArray | None) -> Walk[Float[Array, "b t c"]]:
        """The next layer's tokens; the places are those of `tape`."""
        weights, mixed, transformed = keys_of(key, 3)
        x = yield Offer("reads", x)
        more, _ = yield from self.mixing.walk(x, where, weights)
        more = yield Offer("mixed", more)
        skip = yield Offer("skip_1", x)
        x = yield Offer("between", self.ln_1(skip + dropout(mixed, more, self.rate)))
        more = yield Offer("transformed", self.transformed(x))
        skip = yield Offer("skip_2", x)
        return (yield Offer("out", self.ln_2(skip + dropout(transformed, more, self.rate))))

    def transformed(self, x: Float[Array, "b t c"]) -> Float[Array, "b t c"]:
        """What the second half of the layer adds to each token."""
        inner = self.into(x)
        return self.back.of_gelu(inner) if self.gelu == "exact" else self.back(jax.nn.gelu(inner))


class Encoder(eqx.Module):
    """A post-LayerNorm transformer whose tokens all see each other."""

    tokens: Float[Array, "n c"]
    positions: Float[Array, "m c"]
    types: Float[Array, "k c"]
    ln: LayerNorm
    blocks: tuple[EncoderLayer, ...]
    config: EncoderConfig = eqx.field(static=True)

    def __init__(self, config: EncoderConfig, *, key: PRNGKeyArray):
        tokens, positions, types, *blocks = jax.random.split(key, 3 + config.layers)
        self.tokens = first_weights(tokens, config.vocabulary, config.width)
        self.positions = first_weights(positions, config.positions, config.width)
        self.types = first_weights(types, config.types, config.width)
        self.ln = LayerNorm(config.width, epsilon=config.epsilon)
        self.blocks = tuple(EncoderLayer(config, key) for key in blocks)
        self.config = config

    def hidden(
        self,
        tokens: Int[Array, "b t"],
        mask: Bool[Array, "b t"],
        types: Int[Array, "b t"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "b t c"]:
        """The last layer's tokens.

        Args:
            tokens: rows of one length. Each token is at least 0 and less than the vocabulary; padding may be
                anything.
            mask: True for a token, False for padding. A row may be padding alone.
            types: the segment of each token, from 0. None means 0 everywhere.
            key: for dropout. None means no dropout, as in evaluation.

        Returns:
            The tokens. Where padding stands, numbers have no meaning. Traced tokens or types without a row in their
            table give NaN.

        Raises:
            ValueError: if the rows are empty or longer than the block, shapes differ, or tokens or types are out of
                range.
        """
        return self.through(self.embedded(tokens, mask, types), mask, key)

    def embedded(
        self, tokens: Int[Array, "b t"], mask: Bool[Array, "b t"], types: Int[Array, "b t"] | None = None
    ) -> Float[Array, "b t c"]:
        """The input of the first layer: the embedded tokens.

        Args:
            tokens: rows of one length. Padding may be anything.
            mask: True for a token, False for padding.
            types: the segment of each token, from 0. None means 0 everywhere.

        Raises:
            ValueError: if the rows are empty or longer than the block, shapes differ, or tokens or types are out of
                range.
        """
        self._refuse_unfit(tokens, mask, types)
        # Whatever stands in the padding, from here on it is a token: no NaN that a weight of zero would not stop.
        x = rows_of(self.tokens, jnp.where(mask, tokens, self.config.pad))
        x = x + rows_of(self.positions, self._at(mask))
        kinds = jnp.zeros_like(tokens) if types is None else jnp.where(mask, types, 0)
        return self.ln(x + rows_of(self.types, kinds))

    def through(
        self, x: Float[Array, "b t c"], mask: Bool[Array, "b t"], key: PRNGKeyArray | None = None
    ) -> Float[Array, "b t c"]:
        """The last layer's tokens, from the input of the first layer. With a key, its dropout comes first."""
        return tape(self.walk_from(x, mask, key)).end

    def walk(
        self, tokens: Int[Array, "b t"], mask: Bool[Array, "b t"], types: Int[Array, "b t"] | None = None
    ) -> Walk[Float[Array, "b t c"]]:
        """The last layer's tokens without dropout, for a `tape`.

        Where padding stands, a tape keeps numbers without meaning. `weights` are zero for padding.

        Args:
            tokens: rows of one length. Padding may be anything.
            mask: True for a token, False for padding.
            types: the segment of each token, from 0. None means 0 everywhere.

        Raises:
            ValueError: if the rows are empty or longer than the block, shapes differ, or tokens or types are out of
                range.
        """
        return self.walk_from(self.embedded(tokens, mask, types), mask)

    def walk_from(
        self, x: Float[Array, "b t c"], mask: Bool[Array, "b t"], key: PRNGKeyArray | None = None
    ) -> Walk[Float[Array, "b t c"]]:
        """The same from the input of the first layer. With a key, its dropout comes first."""
        embedding, *layers = keys_of(key, 1 + len(self.blocks))
        x, where = dropout(embedding, x, self.config.dropout), seen_by_all(mask)
        for number, (block, layer) in enumerate(zip(self.blocks, layers, strict=True)):
            x = yield from within(f"layers.{number}", block.walk(x, where, layer))
        return x

    def _at(self, mask: Array) -> Int[Array, "rows t"]:
        """The positions, by the layout. transformers counts RoBERTa's only at tokens that are not `pad`."""
        match self.config.layout:
            case Layout.BERT:
                return jnp.arange(mask.shape[1])[None]
            case Layout.ROBERTA:
                return self.config.pad + jnp.where(mask, jnp.cumsum(mask, axis=1, dtype=jnp.int32), 0)
            case _:
                assert_never(self.config.layout)

    def _refuse_unfit(self, tokens: Array, mask: Array, types: Array | None) -> None:
        refuse.wrong_rank(2, tokens=tokens)
        t = tokens.shape[1]
        if not 1 <= t <= self.config.block:
            raise ValueError(f"a row must have 1 to {self.config.block} places, the block of this encoder, not {t}")
        if mask.shape != tokens.shape or mask.dtype != bool:
            raise ValueError(
                f"mask must have True or False for tokens of shape {tokens.shape}, not {mask.dtype} of {mask.shape}"
            )
        if types is not None and types.shape != tokens.shape:
            raise ValueError(f"types must have the tokens' shape {tokens.shape}, not {types.shape}")
        _refuse_outside("token", tokens, mask, self.config.vocabulary)
        if types is not None:
            _refuse_outside("type", types, mask, self.config.types)


def seen_by_all(mask: Bool[Array, "b t"]) -> Place:
    """Every token sees all tokens. In a row of padding alone all see all: a softmax over nothing would be NaN."""
    b, t = mask.shape
    seen = mask | ~jnp.any(mask, axis=1, keepdims=True)
    return Place(jnp.arange(t)[None], jnp.broadcast_to(seen[:, None, :], (b, t, t)), counted=True, packed=False)


def _refuse_outside(name: str, array: Array, mask: Array, end: int) -> None:
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"{name}s must be whole numbers, not {array.dtype}")
    if refuse.is_concrete(array) and refuse.is_concrete(mask):
        host = np.asarray(array)
        wrong = np.argwhere(((host < 0) | (host >= end)) & np.asarray(mask))
        if wrong.size:
            row, at = map(int, wrong[0])
            raise ValueError(f"{name} {host[row, at]} at {at} of row {row} is out of range: 0 to {end - 1}")
