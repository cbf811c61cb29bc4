"""The heads of an encoder that reads a text."""

import dataclasses
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.labs.heads.rows import Parts, followed, in_double, parts_of_layers, states_by_depth, traced
from attnlab_theory.labs.heads.traces import Kept, Tokens, Trace, encoded
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.text.subwords import Subwords
from attnlab_theory.language.text.vocabulary import OfSentences


@dataclasses.dataclass(frozen=True)
class EncoderReading:
    """A `Reading` of sentences by an encoder. Each stands between the marks of beginning and end."""

    model: Encoder
    text: OfSentences | Subwords
    tokens: tuple[Tokens, ...]
    classifier: Classifier | None = None
    """The classifier of the encoder, if there is one."""
    cut: int = 0
    """How many sentences did not fit, and lost their end."""

    @property
    def layers(self) -> int:
        """The number of layers."""
        return self.model.config.layers

    @property
    def heads(self) -> int:
        """The number of heads in every layer."""
        return self.model.config.heads

    def traces(self, numbers: Sequence[int]) -> Iterator[Trace]:
        """The traces of these sentences, in this order. No token sees padding."""

        def parts_of(rows: Int[np.ndarray, "b t"], lengths: Int[np.ndarray, " b"]) -> Parts:
            mask = np.arange(rows.shape[1])[None, :] < lengths[:, None]
            return _parts(self.model, jnp.asarray(rows), jnp.asarray(mask))

        chosen = [self.tokens[number] for number in numbers]
        return traced(chosen, parts_of, longest=self.model.config.block, causal=False)

    def states(self, numbers: Sequence[int], kept: Kept) -> Iterator[Float[np.ndarray, "depths t c"]]:
        """The tokens before the first layer and after each, in float64. Every LayerNorm stays."""

        with jax.enable_x64(True):
            model = in_double(self.model)

        def states_of(rows: Int[np.ndarray, "b t"], lengths: Int[np.ndarray, " b"]) -> Array:
            mask = np.arange(rows.shape[1])[None, :] < lengths[:, None]
            with jax.enable_x64(True):
                return _states(model, jnp.asarray(rows), jnp.asarray(mask), kept)

        chosen = [self.tokens[number] for number in numbers]
        return followed(chosen, states_of, longest=self.model.config.block)

    def name_of(self, token: int) -> str:
        """The text of the token in the vocabulary. `##` marks one inside a word."""
        if isinstance(self.text, Subwords):
            return self.text.pieces([token])[0]
        return self.text.decode_text([token]) or f"token {token}"


def reading(model: Encoder | Classifier, text: OfSentences | Subwords, sentences: Sequence[str]) -> EncoderReading:
    """An encoder that reads sentences. Those that do not fit into its block are cut, and keep the mark of the end.

    Raises:
        ValueError: naming a sentence that holds a mark.
    """
    encoder, classifier = (model.encoder, model) if isinstance(model, Classifier) else (model, None)
    inner = encoded(sentences, text.encode_text)
    block = encoder.config.block - 2
    tokens = tuple(_between_marks(text, each[:block]) for each in inner)
    return EncoderReading(encoder, text, tokens, classifier, cut=sum(len(each) > block for each in inner))


def _between_marks(text: OfSentences | Subwords, inner: Int[np.ndarray, " t"]) -> Tokens:
    ids = np.concatenate([[text.bos], inner, [text.eos]]).astype(np.int64)
    return Tokens(ids=ids, special=np.isin(np.arange(len(ids)), (0, len(ids) - 1)))


@eqx.filter_jit
def _parts(model: Encoder, rows: Int[Array, "b t"], mask: Bool[Array, "b t"]) -> Parts:
    return parts_of_layers(model.walk(rows, mask))


@eqx.filter_jit
def _states(model: Encoder, rows: Int[Array, "b t"], mask: Bool[Array, "b t"], kept: Kept) -> Array:
    return states_by_depth(model.walk(rows, mask), kept)
