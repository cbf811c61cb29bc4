"""The heads of a GPT that reads a text."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.heads.rows import Parts, followed, in_double, parts_of_layers, states_by_depth, traced
from attnlab_theory.labs.heads.traces import Kept, Tokens, Trace, encoded
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.text.characters import Characters


@dataclasses.dataclass(frozen=True)
class GPTReading:
    """A `Reading` of sentences by a GPT. Each begins with the mark of a beginning."""

    model: GPT
    text: Any
    """The vocabulary: characters, or one with marks for the ends of a sentence."""
    tokens: tuple[Tokens, ...]
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
        """The traces of these sentences, in this order. A causal model does not see the padding at the end."""
        return traced(
            [self.tokens[number] for number in numbers],
            lambda rows, _: _parts(self.model, jnp.asarray(rows)),
            longest=self.model.config.longest,
            causal=True,
        )

    def states(self, numbers: Sequence[int], kept: Kept) -> Iterator[Float[np.ndarray, "depths t c"]]:
        """The tokens before the first layer and after each, in float64. Attention and MLP read them normalised."""

        with jax.enable_x64(True):
            model = in_double(self.model)

        def states_of(rows: Int[np.ndarray, "b t"], _: Int[np.ndarray, " b"]) -> Array:
            with jax.enable_x64(True):
                return _states(model, jnp.asarray(rows), kept)

        chosen = [self.tokens[number] for number in numbers]
        return followed(chosen, states_of, longest=self.model.config.longest)

    def name_of(self, token: int) -> str:
        """The text of the token."""
        if isinstance(self.text, Characters):
            return repr(self.text.decode([token]))
        return self.text.decode_text([token]).strip() or f"token {token}"


def reading(model: GPT, text: Any, sentences: Sequence[str]) -> GPTReading:
    """A GPT that reads sentences. Those that do not fit into its block are cut.

    Raises:
        ValueError: if its scores are not inner products of queries and keys, or a character is unknown.
    """
    mixer, positions = model.config.mixer, model.config.positions
    if not isinstance(mixer, Softmax) or positions.biases:
        raise ValueError(
            f"scores of {mixer.name} with {positions.name} are not inner products of queries and keys: "
            "name a model of softmax attention whose positions do not bias its scores"
        )
    longest, characters = model.config.longest, isinstance(text, Characters)
    ids = encoded(sentences, text.encode if characters else lambda each: [text.bos, *text.encode_text(each)])
    tokens = tuple(
        Tokens(ids=each[:longest], special=(np.arange(len(each)) == 0)[:longest] & (not characters)) for each in ids
    )
    cut = 0 if longest is None else sum(len(each) > longest for each in ids)
    return GPTReading(model, text, tokens, cut)


@eqx.filter_jit
def _parts(model: GPT, tokens: Int[Array, "b t"]) -> Parts:
    return parts_of_layers(model.walk(tokens))


@eqx.filter_jit
def _states(model: GPT, tokens: Int[Array, "b t"], kept: Kept) -> Array:
    return states_by_depth(model.walk(tokens), kept)
