"""The heads of an encoder before a text."""

import dataclasses
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from attnlab_theory.labs.heads.rows import Parts, traced
from attnlab_theory.labs.heads.traces import Tokens, Trace
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.text.subwords import Subwords


@dataclasses.dataclass(frozen=True)
class EncoderReading:
    """A `Reading` of sentences by an encoder; each stands between the marks of beginning and end."""

    model: Encoder
    text: Subwords
    tokens: tuple[Tokens, ...]

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return self.model.config.layers

    @property
    def heads(self) -> int:
        """Heads of every layer."""
        return self.model.config.heads

    def traces(self, numbers: Sequence[int]) -> Iterator[Trace]:
        """Of these sentences, in this order; no token looks at what fills up a row."""

        def parts_of(rows: Int[np.ndarray, "b t"], lengths: Int[np.ndarray, " b"]) -> Parts:
            mask = np.arange(rows.shape[1])[None, :] < lengths[:, None]
            return _parts(self.model, jnp.asarray(rows), jnp.asarray(mask))

        chosen = [self.tokens[number] for number in numbers]
        return traced(chosen, parts_of, longest=self.model.config.block, causal=False)

    def name_of(self, token: int) -> str:
        """The token as the vocabulary writes it; `##` marks one that goes on with a word."""
        return self.text.pieces([token])[0]


def reading(model: Encoder, text: Subwords, sentences: Sequence[str]) -> EncoderReading:
    """An encoder with sentences before it; what does not fit into its block is cut off, not the mark of the end."""
    return EncoderReading(model, text, tuple(_read(text, each, model.config.block) for each in sentences))


def _read(text: Subwords, sentence: str, longest: int) -> Tokens:
    inner = text.encode_text(sentence).astype(np.int64)[: longest - 2]
    ids = np.concatenate([[text.bos], inner, [text.eos]]).astype(np.int64)
    return Tokens(ids=ids, special=np.isin(np.arange(len(ids)), (0, len(ids) - 1)))


@eqx.filter_jit
def _parts(model: Encoder, rows: Int[Array, "b t"], mask: Bool[Array, "b t"]) -> Parts:
    layers = model.traced(rows, mask)
    q, k, v = (jnp.stack([getattr(layer, name) for layer in layers]) for name in ("q", "k", "v"))
    return q, k, v
