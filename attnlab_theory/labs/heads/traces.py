"""What the lab sees of a model: queries, keys and values of all heads, one sentence after the other."""

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
    """What the heads of all layers make of one sentence.

    The score of query i for key j is q_i . k_j: any scale is in the queries. Scores of that form are all that the
    lab understands; a bias by distance is none.

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
        """Of every query for every key, in float64; -inf where it does not see it."""
        z = np.matmul(self.q.astype(np.float64), np.swapaxes(self.k, 2, 3).astype(np.float64))
        return np.where(self.visible, z, -np.inf)


@runtime_checkable
class Reading(Protocol):
    """A model with a text before it: the seam between the lab and whatever has heads.

    Tokens are known without running the model. Traces are made one after the other, so that nobody keeps them all.
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
        """Of every sentence."""
        ...

    def traces(self, numbers: Sequence[int]) -> Iterator[Trace]:
        """Those of the sentences with these numbers, in this order."""
        ...

    def name_of(self, token: int) -> str:
        """How people write a token."""
        ...


def encoded(sentences: Sequence[str], encode: Callable[[str], Any]) -> list[Int[np.ndarray, " t"]]:
    """The numbers of the tokens of each sentence.

    Args:
        sentences: any.
        encode: from a sentence to its numbers.

    Raises:
        ValueError: as `encode`, with the number of the sentence before it.
    """
    found = []
    for number, sentence in enumerate(sentences, 1):
        try:
            found.append(np.asarray(encode(sentence), np.int64))
        except ValueError as error:
            raise ValueError(f"sentence {number}: {error}") from None
    return found


class Kept(enum.StrEnum):
    """What is left of a model's layers when states are followed through them."""

    ALL = "all"
    NO_MLPS = "no MLPs"
    """Each token is handed on as attention left it."""
    NO_SKIPS = "no skip connections"
    """What attention and MLP make of a token takes its place."""
    ATTENTION = "attention alone"

    @property
    def skips(self) -> bool:
        """Whether what a half of a layer makes is added to what it reads."""
        return self in (Kept.ALL, Kept.NO_MLPS)

    @property
    def mlps(self) -> bool:
        """Whether tokens are transformed one by one."""
        return self in (Kept.ALL, Kept.NO_SKIPS)


@runtime_checkable
class Layered(Protocol):
    """A model with a text before it whose layers can be taken apart."""

    @property
    def tokens(self) -> Sequence[Tokens]:
        """Of every sentence."""
        ...

    def states(self, numbers: Sequence[int], kept: Kept) -> Iterator[Float[np.ndarray, "depths t c"]]:
        """The tokens of these sentences before the first layer and after each, in float64."""
        ...


def softmax(scores: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows t"]:
    """The weights of scores along the last axis."""
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)
