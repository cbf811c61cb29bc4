"""The GPT: tokens to logits of the next token, with any mixer and any positions, and its cached decoding.

`model(tokens [t])` reads one row. Training calls `model.rows(tokens [b t])`. There the gradient of a weight is one
product over all tokens of the batch. It equals that of `vmap`, and is faster.
"""

import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from attnlab_theory import refuse
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models import gpt2, losses
from attnlab_theory.language.models.block import Block
from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.language.models.huggingface import Tell, untold
from attnlab_theory.language.models.layers import (
    LayerNorm,
    Linear,
    at_least_single,
    dropout,
    first_weights,
    keys_of,
    product,
    rows_of,
)
from attnlab_theory.language.models.mixing import Kept, Slot
from attnlab_theory.language.models.tape import Walk, tape, within
from attnlab_theory.language.models.weighing import Place, place
from attnlab_theory.language.text.characters import PAD_ID

__all__ = ["GPT", "Cache", "GPTConfig", "load_gpt2", "parameter_count"]

Cache = tuple[Kept, ...]
"""One entry per layer, each with a slot per position."""


class GPT(eqx.Module):
    """A pre-LayerNorm transformer that predicts the next token from the past."""

    tokens: Float[Array, "n c"]
    positions: Float[Array, "m c"] | None
    blocks: tuple[Block, ...]
    ln_f: LayerNorm
    head: Linear | None
    config: GPTConfig = eqx.field(static=True)

    def __init__(self, config: GPTConfig, *, key: PRNGKeyArray):
        embedding, head, *blocks = jax.random.split(key, 2 + config.layers)
        self.tokens = first_weights(embedding, config.vocabulary, config.width)
        self.positions = config.positions.table(config.block, config.width)
        self.blocks = tuple(Block(config, key) for key in blocks)
        self.ln_f = LayerNorm(config.width, epsilon=config.epsilon)
        self.head = None if config.tied else Linear(head, config.width, config.vocabulary, bias=False)
        self.config = config

    def __call__(
        self,
        tokens: Int[Array, " t"],
        *,
        segments: Int[Array, " t"] | None = None,
        positions: Int[Array, " t"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "t c"]:
        """Logits of the token after each position.

        Args:
            tokens: of one row, each at least 0 and less than the vocabulary.
            segments: the number of each token's document, if several are packed in the row. A token sees its own
                document only.
            positions: of the tokens. By default they count from 0, and restart with each segment.
            key: for dropout. None means no dropout, as in evaluation.

        Returns:
            Logits, not normalised. Traced tokens or positions that have no row in their table give NaN.

        Raises:
            ValueError: if the row is empty or longer than the model can take, or tokens or positions are out of
                range. Also if segments are given to a mixer that cannot keep them apart.
        """
        refuse.wrong_rank(1, tokens=tokens)
        rows = (None if x is None else x[None] for x in (segments, positions))
        return self.rows(tokens[None], **dict(zip(("segments", "positions"), rows, strict=True)), key=key)[0]

    def rows(
        self,
        tokens: Int[Array, "b t"],
        *,
        segments: Int[Array, "b t"] | None = None,
        positions: Int[Array, "b t"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "b t c"]:
        """Logits of the token after each position, for rows of one length.

        Args:
            tokens: of the rows, each at least 0 and less than the vocabulary.
            segments: the number of each token's document, if several are packed in a row.
            positions: of the tokens. By default they count from 0, and restart with each segment.
            key: for dropout. None means no dropout, as in evaluation.

        Raises:
            ValueError: if rows are empty or longer than the model can take, or tokens or positions are out of
                range. Also if segments are given to a mixer that cannot keep them apart.
        """
        self.refuse_unfit(tokens, segments, positions)
        where = place(tokens.shape[0], tokens.shape[1], segments, positions)
        return self._logits(self._through(tokens, where, key)[0])

    def summed_loss(self, batch: Batch, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """Minus the log-probability of the batch's targets, in nats, weighted and summed."""
        x, y, segments, positions, weights = _as_arrays(batch)
        if self.config.vocabulary >= losses.MANY:
            self.refuse_unfit(x, segments, positions)
            final = self.ln_f(self._through(x, place(x.shape[0], x.shape[1], segments, positions), key)[0])
            final = at_least_single(final).reshape(-1, final.shape[2])
            counts = (y != PAD_ID).astype(final.dtype) if weights is None else weights.astype(final.dtype)
            head = at_least_single(self._head())
            return losses.summed_cross_entropy(final, head, y.reshape(-1), counts.reshape(-1))
        logits = at_least_single(self.rows(x, segments=segments, positions=positions, key=key))
        # A comparison with every class: the gradient of a gather would be a scatter, one number at a time.
        chosen = y[:, :, None] == jnp.arange(logits.shape[2], dtype=y.dtype)[None, None, :]
        given = jnp.sum(jnp.where(chosen, logits, 0), axis=2)
        lost = jax.nn.logsumexp(logits, axis=2) - given
        if weights is not None:
            return jnp.sum(jnp.where(weights > 0, weights.astype(lost.dtype) * lost, 0))
        return jnp.sum(jnp.where(y == PAD_ID, 0, lost))

    def token_losses(self, batch: Batch) -> Float[Array, "b t"]:
        """Minus the log-probability of every token of y, target or not, in nats, without dropout."""
        x, y, segments, positions, _ = _as_arrays(batch)
        self.refuse_unfit(x, segments, positions)
        final = self.ln_f(self._through(x, place(x.shape[0], x.shape[1], segments, positions), None)[0])
        final = at_least_single(final).reshape(-1, final.shape[2])
        lost = losses.cross_entropies(final, at_least_single(self._head()), y.reshape(-1))
        return lost.reshape(y.shape)

    def decayed(self) -> PyTree[bool]:
        """Which parameters weight decay shrinks: all but biases, as in the homework.

        LayerNorm's gains, embeddings and the dense synthesizer's b_2 *are* decayed: the homework lists its
        exceptions by name, and these are not among them. Random projections are not parameters.
        """
        return jax.tree.map_with_path(lambda path, _: _name(path) not in ("bias", "projection"), self)

    def prefill_rows(
        self, tokens: Int[Array, "b t"], lengths: Int[Array, " b"]
    ) -> tuple[Float[Array, "b c"], tuple[Kept | None, ...]]:
        """Logits of the token after the first `lengths` of every row, and a cache of t slots.

        Rows are filled up at their right end, with any tokens. A layer that keeps nothing leaves None in the cache.

        Raises:
            ValueError: if the model cannot take the rows.
        """
        self.refuse_unfit(tokens)
        x, kept = self._through(tokens, place(tokens.shape[0], tokens.shape[1], None, None), None)
        last = jnp.take_along_axis(x, lengths[:, None, None] - 1, axis=1)
        return self._logits(last)[:, 0], kept

    def step_rows(self, tokens: Int[Array, " b"], slot: Slot, cache: Cache) -> tuple[Float[Array, "b c"], Cache]:
        """Logits after one more token in every row of a batch, and the cache with that token.

        Every weight is read once for all rows. The slot must be one of the cache's. Nothing is checked.
        """
        x = self.embedded(tokens[:, None], slot.at)
        longer = []
        for block, kept in zip(self.blocks, cache, strict=True):
            x, kept = block.step(x, slot, kept)
            longer.append(kept)
        return self._logits(x)[:, 0], tuple(longer)

    def refuse_unfit(self, tokens: Array, segments: Array | None = None, positions: Array | None = None) -> None:
        """Refuse rows that the model cannot take. Of traced arrays only the shapes are checked.

        Raises:
            ValueError: if rows are empty or longer than the model can take, or tokens or positions are out of
                range. Also if segments are given to a mixer that cannot keep them apart.
        """
        t = tokens.shape[1]
        longest = self.config.longest
        if not t or (longest is not None and t > longest):
            limit = "at least 1" if not t else f"at most {longest}, the block of this model"
            raise ValueError(f"a row must have {limit} tokens, not {t}")
        for name, array in (("segments", segments), ("positions", positions)):
            if array is not None and array.shape != tokens.shape:
                raise ValueError(f"{name} must have the tokens' shape {tokens.shape}, not {array.shape}")
        _refuse_outside("token", tokens, self.config.vocabulary, "the vocabulary")
        if positions is not None and longest is not None:
            _refuse_outside("position", positions, longest, "the block")

    def _through(self, tokens: Array, where: Place, key: PRNGKeyArray | None) -> tuple[Array, tuple[Any, ...]]:
        """The last layer's tokens, and what each layer would keep."""
        return tape(self.walk_from(self.embedded(tokens, where.at), where, key)).end

    def walk(self, tokens: Int[Array, "b t"]) -> Walk[tuple[Float[Array, "b t c"], tuple[Kept | None, ...]]]:
        """The last layer's tokens, and what each layer would keep, without dropout. For a `tape`.

        Raises:
            ValueError: if the model cannot take the tokens.
        """
        self.refuse_unfit(tokens)
        where = place(tokens.shape[0], tokens.shape[1], None, None)
        return self.walk_from(self.embedded(tokens, where.at), where)

    def walk_from(
        self, x: Float[Array, "b t c"], where: Place, key: PRNGKeyArray | None = None
    ) -> Walk[tuple[Float[Array, "b t c"], tuple[Kept | None, ...]]]:
        """The same from the input of the first layer. With a key, dropout comes first. Faster than a scan."""
        embedding, *layers = keys_of(key, 1 + len(self.blocks))
        x, cache = dropout(embedding, x, self.config.embedding_dropout), []
        for number, (block, layer) in enumerate(zip(self.blocks, layers, strict=True)):
            x, kept = yield from within(f"layers.{number}", block.walk(x, where, layer))
            cache.append(kept)
        return x, tuple(cache)

    def embedded(self, tokens: Int[Array, "b t"], at: Int[Array, "rows t"]) -> Float[Array, "b t c"]:
        """The input of the first layer: the embedded tokens."""
        x = rows_of(self.tokens, tokens)
        added = self.config.positions.added(self.positions, at, self.config.width)
        return x if added is None else x + added.astype(x.dtype)

    def _logits(self, x: Array) -> Array:
        x = self.ln_f(x)
        if self.head is not None:
            return self.head(x)
        return product(x.reshape(-1, x.shape[2]), self.tokens.T).reshape(*x.shape[:2], -1)

    def _head(self) -> Float[Array, "c n"]:
        return self.tokens.T if self.head is None else self.head.weight


def parameter_count(model: PyTree) -> int:
    """How many numbers are learned."""
    learned = jax.tree.map_with_path(lambda path, x: 0 if _name(path) == "projection" else x.size, model)
    return sum(jax.tree.leaves(learned))


def load_gpt2(path: str | os.PathLike[str], *, heads: int | None = None, tell: Tell = untold) -> GPT:
    """A GPT-2 from a local safetensors file with the names of Hugging Face's transformers.

    Args:
        path: of the file, or of a folder that holds `model.safetensors`. A `config.json` beside the file is read.
        heads: the number of attention heads. Needed if there is no `config.json`, for the file does not say it.
        tell: called with a line if the file has the head of a tuned model, which is left out.

    Returns:
        The model in float32, with GPT-2's dropout rates. It computes the same logits as transformers. If
        config.json scales the scores of a layer, its queries contain the factor.

    Raises:
        ValueError: if the file is missing, truncated or of another kind. Also if it holds an unknown name, lacks
            one or has one of an unexpected shape, or the configuration asks for what this model does not have.

    Source: Radford et al. 2019; names and layout as in transformers' `GPT2LMHeadModel`.
    """
    checkpoint = gpt2.read(path, heads=heads, tell=tell)
    config = GPTConfig(**checkpoint.fields)
    empty = eqx.filter_eval_shape(lambda key: GPT(config, key=key), jax.random.key(0))
    flat, structure = jax.tree.flatten_with_path(empty)
    weights = [jnp.asarray(checkpoint.weights[jax.tree_util.keystr(at)], jnp.float32) for at, _ in flat]
    return jax.tree.unflatten(structure, weights)


def _as_arrays(batch: Batch) -> tuple[Array, Array, Array | None, Array | None, Array | None]:
    segments, positions, weights = (None if part is None else jnp.asarray(part) for part in batch[2:])
    return jnp.asarray(batch.x), jnp.asarray(batch.y), segments, positions, weights


def _name(path: tuple[Any, ...]) -> str:
    """The name of the field of a leaf."""
    return str(getattr(path[-1], "name", ""))


def _refuse_outside(name: str, array: Array, end: int, of: str) -> None:
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"{name}s must be whole numbers, not {array.dtype}")
    if refuse.is_concrete(array):
        host = np.asarray(array)
        wrong = np.argwhere((host < 0) | (host >= end))
        if wrong.size:
            at = tuple(wrong[0])
            raise ValueError(f"{name} {host[at]} at {at[-1]} is outside {of}: 0 to {end - 1}")
