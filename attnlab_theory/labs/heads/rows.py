"""Runs of sentences through a model, some at a time, and the trace of each sentence."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.heads.traces import Kept, Tokens, Trace
from attnlab_theory.language.models.tape import Walk, tape

Model = TypeVar("Model")

ROWS = 64
"""How many sentences go through the model at once."""

PLACES = 16
"""The lengths of rows are multiples of this, so that few shapes are compiled."""

Parts = tuple[
    Float[Array, "layers b h t d"],
    Float[Array, "layers b h t d"],
    Float[Array, "layers b h t e"],
]
"""Queries, keys and values of all layers."""


def batches(
    sentences: Sequence[Tokens], *, longest: int | None, rows: int = ROWS
) -> Iterator[tuple[Sequence[Tokens], Int[np.ndarray, "b t"], Int[np.ndarray, " b"]]]:
    """Sentences, some at a time, with their rows of tokens, filled up at the end, and their lengths.

    Args:
        sentences: at least one token each.
        longest: the longest row that the model takes, if there is a limit.
        rows: how many go through at once. Missing ones are filled up with rows of one token.
    """
    for start in range(0, len(sentences), rows):
        chosen = sentences[start : start + rows]
        lengths = np.ones(rows, np.int32)
        lengths[: len(chosen)] = [len(each.ids) for each in chosen]
        places = -(-int(lengths.max()) // PLACES) * PLACES
        filled = np.zeros((rows, min(places, longest or places)), np.int32)
        for row, each in zip(filled, chosen, strict=False):
            row[: len(each.ids)] = each.ids
        yield chosen, filled, lengths


def traced(
    sentences: Sequence[Tokens],
    parts_of: Callable[[Int[np.ndarray, "b t"], Int[np.ndarray, " b"]], Parts],
    *,
    longest: int | None,
    causal: bool,
) -> Iterator[Trace]:
    """The traces of sentences, in this order.

    Args:
        sentences: at least one token each.
        longest: the longest row that the model takes, if there is a limit.
        parts_of: gives queries, keys and values of rows and the lengths of their sentences. A score is q . k /
            sqrt(d).
        causal: whether a token sees itself and earlier ones only.
    """
    for chosen, rows, lengths in batches(sentences, longest=longest):
        parts = [np.asarray(part, np.float64) for part in parts_of(rows, lengths)]
        for at, each in enumerate(chosen):
            q, k, v = (part[:, at, :, : len(each.ids)] for part in parts)
            yield Trace(tokens=each, q=q * q.shape[3] ** -0.5, k=k, v=v, causal=causal)


def followed(
    sentences: Sequence[Tokens],
    states_of: Callable[[Int[np.ndarray, "b t"], Int[np.ndarray, " b"]], Float[Array, "depths b t c"]],
    *,
    longest: int | None,
) -> Iterator[Float[np.ndarray, "depths t c"]]:
    """The tokens of sentences by depth.

    Args:
        sentences: at least one token each.
        states_of: gives the tokens at every depth of rows and the lengths of their sentences.
        longest: the longest row that the model takes, if there is a limit.
    """
    for chosen, rows, lengths in batches(sentences, longest=longest):
        states = np.asarray(states_of(rows, lengths))
        for at, each in enumerate(chosen):
            yield states[:, at, : len(each.ids)]


def parts_of_layers(walk: Walk[Any]) -> Parts:
    """Queries, keys and values of all layers on a model's walk."""
    found = tape(walk, keep=[f"layers.*.{part}" for part in "qkv"])
    q, k, v = (jnp.stack(found.layers(part)) for part in "qkv")
    return q, k, v


def states_by_depth(walk: Walk[Any], kept: Kept) -> Float[Array, "depths b t c"]:
    """The tokens before the first layer and after each, without the parts of layers that are not kept."""
    silent = {"skip_1": not kept.skips, "skip_2": kept is Kept.NO_SKIPS, "transformed": not kept.mlps}
    replace = {f"layers.*.{place}": jnp.zeros_like for place, chosen in silent.items() if chosen}
    found = tape(walk, keep=["layers.0.reads", "layers.*.out"], replace=replace)
    return jnp.stack([*found.layers("reads"), *found.layers("out")])


def in_double(model: Model) -> Model:
    """A model in float64, for differences that float32 does not hold. Call it where 64 bits are enabled."""
    return jax.tree.map(lambda x: x.astype(jnp.float64), model)
