"""Sentences through a model, some at a time, and the traces of each."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.heads.traces import Tokens, Trace

ROWS = 64
"""Sentences that go through the model at once."""

PLACES = 16
"""Rows are as long as a multiple of it, so that few shapes are compiled."""

Parts = tuple[
    Float[Array, "layers b h t d"],
    Float[Array, "layers b h t d"],
    Float[Array, "layers b h t e"],
]
"""Queries, keys and values of all layers."""


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
        parts_of: what the model makes of rows that are filled up at the end, and of the lengths of their sentences.
            A score is q . k / sqrt(d).
        longest: the longest row that the model takes, if there is one.
        causal: whether a token sees itself and earlier ones only.
    """
    for start in range(0, len(sentences), ROWS):
        chosen = sentences[start : start + ROWS]
        lengths = np.ones(ROWS, np.int32)
        lengths[: len(chosen)] = [len(each.ids) for each in chosen]
        places = -(-int(lengths.max()) // PLACES) * PLACES
        rows = np.zeros((ROWS, min(places, longest or places)), np.int32)
        for row, each in zip(rows, chosen, strict=False):
            row[: len(each.ids)] = each.ids
        parts = [np.asarray(part, np.float64) for part in parts_of(rows, lengths)]
        for at, each in enumerate(chosen):
            q, k, v = (part[:, at, :, : len(each.ids)] for part in parts)
            yield Trace(tokens=each, q=q * q.shape[3] ** -0.5, k=k, v=v, causal=causal)
