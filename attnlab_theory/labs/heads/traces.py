"""Traces of a model: queries, keys and values of all heads, one sentence after the other."""

import dataclasses
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tokens:
    """One sentence as the model reads it."""

    ids: Int[np.ndarray, " t"]
    special: Bool[np.ndarray, " t"]
    """Which tokens are marks that no sentence contains: beginnings, ends, separators."""

    def __post_init__(self) -> None:
        if self.ids.ndim != 1 or self.ids.shape != self.special.shape or not self.ids.size:
            raise ValueError(
                f"a sentence is a row of tokens and as many truth values, not shapes {self.ids.shape} "
                f"and {self.special.shape}"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """Queries, keys and values of one sentence, in the heads of all layers.

    The score of query i for key j is q_i . k_j: the scale is in the queries. The lab needs scores of that form, so
    biases by distance are not possible.

    Raises:
        ValueError: if shapes disagree, or a number is not finite.
    """

    tokens: Tokens
    q: Float[np.ndarray, "layers h t d"]
    k: Float[np.ndarray, "layers h t d"]
    v: Float[np.ndarray, "layers h t e"]
    causal: bool
    """Whether a token sees itself and earlier ones only."""

    def __post_init__(self) -> None:
        t = len(self.tokens.ids)
        if self.q.ndim != 4 or self.q.shape != self.k.shape or self.q.shape[:3] != self.v.shape[:3]:
            raise ValueError(f"q, k and v are [layers h t d], not {self.q.shape}, {self.k.shape}, {self.v.shape}")
        if self.q.shape[2] != t:
            raise ValueError(f"queries of {self.q.shape[2]} tokens do not belong to a sentence of {t}")
        for name in ("q", "k", "v"):
            if not np.all(np.isfinite(getattr(self, name))):
                raise ValueError(f"{name} of a sentence of {t} tokens is not finite: the model is broken")

    @property
    def visible(self) -> Bool[np.ndarray, "t t"]:
        """Which keys (columns) each query (row) sees."""
        t = len(self.tokens.ids)
        return np.tril(np.ones((t, t), bool)) if self.causal else np.ones((t, t), bool)

    def scores(self) -> Float[np.ndarray, "layers h t t"]:
        """The score of every query for every key, in float64; -inf where it does not see it."""
        z = np.matmul(self.q.astype(np.float64), np.swapaxes(self.k, 2, 3).astype(np.float64))
        return np.where(self.visible, z, -np.inf)


@runtime_checkable
class Reading(Protocol):
    """A model that reads a text: the interface between the lab and any model with heads.

    Tokens are known without running the model. Traces are made one after the other, so they are never all in
    memory.
    """

    @property
    def layers(self) -> int:
        """How many layers have heads."""
        ...

    @property
    def heads(self) -> int:
        """How many heads each layer has."""
        ...

    @property
    def tokens(self) -> Sequence[Tokens]:
        """The tokens of every sentence."""
        ...

    def traces(self, numbers: Sequence[int]) -> Iterator[Trace]:
        """The traces of the sentences with these numbers, in this order."""
        ...

    def name_of(self, token: int) -> str:
        """The text of a token."""
        ...


def encoded(sentences: Sequence[str], encode: Callable[[str], Any]) -> list[Int[np.ndarray, " t"]]:
    """The numbers of the tokens of each sentence.

    Args:
        sentences: any.
        encode: a function of a sentence to its numbers.

    Raises:
        ValueError: if `encode` refuses a sentence. The message has the number of the sentence.
    """
    found = []
    for number, sentence in enumerate(sentences, 1):
        try:
            found.append(np.asarray(encode(sentence), np.int64))
        except ValueError as error:
            raise ValueError(f"sentence {number}: {error}") from None
    return found


class Kept(enum.StrEnum):
    """The parts of a model's layers that are kept when states are followed through them."""

    ALL = "all"
    NO_MLPS = "no MLPs"
    """Attention and skip connections, without MLPs."""
    NO_SKIPS = "no skip connections"
    """Attention and MLPs, without skip connections."""
    ATTENTION = "attention alone"

    @property
    def skips(self) -> bool:
        """Whether skip connections are kept: a half of a layer adds its output to its input."""
        return self in (Kept.ALL, Kept.NO_MLPS)

    @property
    def mlps(self) -> bool:
        """Whether MLPs are kept."""
        return self in (Kept.ALL, Kept.NO_SKIPS)


@runtime_checkable
class Layered(Protocol):
    """A model that reads a text, and whose layers can be taken apart."""

    @property
    def tokens(self) -> Sequence[Tokens]:
        """The tokens of every sentence."""
        ...

    def states(self, numbers: Sequence[int], kept: Kept) -> Iterator[Float[np.ndarray, "depths t c"]]:
        """The tokens of these sentences before the first layer and after each, in float64."""
        ...


def softmax(scores: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows t"]:
    """The weights of scores along the last axis."""
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)
