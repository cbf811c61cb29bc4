"""Batches of token sequences: in file order, sorted by length, or packed, with the same total gradient.

The loss of a batch is the sum over its targets, divided by `Batch.weight`. A token y = PAD is no target, unless
weights are given. The sums of micro-batches are divided by the weight of the whole batch. So their gradients add
up to the gradient of the batch.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int32

from attnlab_theory import refuse
from attnlab_theory.language.text.characters import PAD_ID

Numbers = Int32[np.ndarray, "b t"] | Int32[Array, "b t"]
Weights = Float32[np.ndarray, "b t"] | Float32[Array, "b t"]


class Batch(NamedTuple):
    """Sequences to read, and the tokens after them. They are numpy arrays on the host, and a pytree under `jit`."""

    x: Numbers
    """Tokens to read; PAD fills up rows."""
    y: Numbers
    """The token after each; PAD is no target."""
    segments: Numbers | None = None
    """The number of a token's document in its row, from 1; 0 for PAD. None: one document in each row."""
    positions: Numbers | None = None
    """Places within the document, from 0; None: places within the row."""
    weights: Weights | None = None
    """The weight of each target's loss; 0 for no target. None: weights are 1, and PAD is no target."""

    @property
    def is_target(self) -> Bool[np.ndarray, "b t"]:
        """Where the loss counts."""
        return np.asarray(self.y) != PAD_ID if self.weights is None else np.asarray(self.weights) > 0

    @property
    def targets(self) -> int:
        """How many tokens the loss looks at."""
        return int(np.count_nonzero(self.is_target))

    @property
    def weight(self) -> float:
        """What the summed loss is divided by."""
        return (
            float(self.targets)
            if self.weights is None
            else float(np.sum(np.asarray(self.weights), dtype=np.float64))
        )

    @property
    def places(self) -> int:
        """Tokens that it has room for, PAD among them."""
        return int(np.size(self.y))

    @property
    def lengths(self) -> Int[np.ndarray, " b"]:
        """For every row the place of its last target, plus one. Later tokens have no effect on the loss."""
        real = self.is_target
        return np.where(real.any(axis=1), real.shape[1] - np.argmax(real[:, ::-1], axis=1), 0)

    @property
    def documents(self) -> int:
        """How many documents it holds; rows of nothing but PAD are none."""
        if self.segments is None:
            return int(np.count_nonzero((np.asarray(self.x) != PAD_ID).any(axis=1)))
        return int(np.asarray(self.segments).max(axis=1, initial=0).sum())

    def take(self, rows: Int[np.ndarray, " _"] | slice, width: int | None = None) -> "Batch":
        """Some of the rows, cut to a width."""
        return self._each(lambda part: part[rows, :width])

    def filled(self, rows: int) -> "Batch":
        """The batch, filled up to `rows` rows with rows of PAD. They change neither loss nor gradient."""
        missing = rows - len(self.x)
        if missing <= 0:
            return self
        return self._each(lambda part: np.pad(part, ((0, missing), (0, 0))))

    def _each(self, change: Callable[[Any], Any]) -> "Batch":
        return Batch._make(None if part is None else change(part) for part in self)


def in_file_order(examples: Batch, size: int, *, fill: bool = False) -> Iterator[Batch]:
    """The rows in their order, `size` at a time, as in the homework: no shuffling, and a shorter last batch.

    Args:
        examples: an epoch.
        size: rows of a batch.
        fill: fill the last batch with rows of PAD, so that all batches have one shape.

    Raises:
        ValueError: if `size` is not a positive whole number.
    """
    refuse.not_a_size(size=size)
    return _slices(examples, size, fill)


def _slices(examples: Batch, size: int, fill: bool) -> Iterator[Batch]:
    for start in range(0, len(examples.x), size):
        batch = examples.take(slice(start, start + size))
        yield batch.filled(size) if fill else batch


def shuffled(examples: Batch, *, seed: int, epoch: int) -> Batch:
    """The rows in an order that follows from the seed and the epoch alone."""
    order = np.random.default_rng([seed, epoch]).permutation(len(examples.x))
    return examples.take(order)


def by_length(batch: Batch, *, rows: int, step: int = 16) -> list[Batch]:
    """The batch as micro-batches of similar length, longest first, each only as wide as it must be.

    Their summed losses and gradients are those of the batch: PAD is no target, and stands before none.

    Args:
        batch: any.
        rows: rows of every micro-batch; the last one is filled with rows of PAD.
        step: widths are multiples of it, or the whole width, so that few shapes are compiled.

    Raises:
        ValueError: if `rows` or `step` is not a positive whole number.
    """
    refuse.not_a_size(rows=rows, step=step)
    lengths, whole = batch.lengths, batch.x.shape[1]
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    parts = []
    for start in range(0, len(order), rows):
        chosen = order[start : start + rows]
        width = min(whole, -(-int(lengths[chosen[0]]) // step) * step)
        parts.append(batch.take(chosen, width).filled(rows))
    return parts


def by_packing(batch: Batch, *, rows: int) -> list[Batch]:
    """The batch as micro-batches whose rows hold several documents each (`pack`), as wide as the batch.

    Their summed losses and gradients are those of the batch, as with `by_length`, in fewer places still.

    Args:
        batch: one document per row.
        rows: rows of every micro-batch; the last one is filled with rows of PAD.

    Raises:
        ValueError: if `rows` is not a positive whole number, or the batch is packed already.
    """
    return list(in_file_order(pack(batch, width=batch.x.shape[1]), rows, fill=True))


def pack(examples: Batch, *, width: int, rows: int = 1) -> Batch:
    """Several documents in each row: the same targets after the same tokens, in fewer places.

    Documents are laid by best fit, longest first. Rows come in the order of their first document, and documents
    keep their order within a row. A model that attends only where `segments` agree, and reads `positions`,
    computes the same losses and gradients as on the examples.

    Args:
        examples: one document per row.
        width: places in a row.
        rows: the number of rows is filled up to a multiple of it.

    Raises:
        ValueError: if a document is longer than a row, or the examples are packed already.
    """
    refuse.not_a_size(width=width, rows=rows)
    if examples.segments is not None:
        raise ValueError("these examples are packed already; pack takes one document per row")
    lengths = examples.lengths
    if len(lengths) and lengths.max() > width:
        longest = int(np.argmax(lengths))
        raise ValueError(
            f"document {longest} takes {lengths[longest]} places, more than the {width} of a row; widen the rows"
        )
    layout = _best_fit(lengths, width)
    count = -(-max(len(layout), 1) // rows) * rows
    return _laid_out(examples, layout, count, width)


def _best_fit(lengths: Int[np.ndarray, " n"], width: int) -> list[list[int]]:
    """The documents of every row. Documents without a target are left out."""
    with_room: list[list[list[int]]] = [[] for _ in range(width + 1)]
    rooms = 0  # Its bit r is set where a row has room for r: the lowest bit from a length on is the best fit.
    layout: list[list[int]] = []
    order = np.argsort(-lengths, kind="stable")
    for document, length in zip(order.tolist(), lengths[order].tolist(), strict=True):
        if length == 0:
            break
        fitting = rooms >> length
        if fitting:
            room = length + (fitting & -fitting).bit_length() - 1
            row = with_room[room].pop()
            rooms ^= (not with_room[room]) << room
        else:
            room, row = width, []
            layout.append(row)
        row.append(document)
        with_room[room - length].append(row)
        rooms |= 1 << (room - length)
    return sorted(sorted(row) for row in layout)


def _laid_out(examples: Batch, layout: list[list[int]], count: int, width: int) -> Batch:
    documents = np.array([document for row in layout for document in row], np.int64)
    lengths = examples.lengths[documents]
    sizes = [len(row) for row in layout]
    rows = np.repeat(np.arange(len(layout)), sizes)
    numbers = np.concatenate([np.arange(1, size + 1) for size in sizes]) if sizes else np.zeros(0, np.int64)
    ends = np.cumsum(lengths)
    offsets = ends - lengths
    if len(rows):
        offsets = offsets - offsets[np.searchsorted(rows, rows)]

    # One entry for every token: its document, its place there, and where it goes.
    token = np.repeat(np.arange(len(documents)), lengths)
    place = np.arange(len(token)) - np.repeat(ends - lengths, lengths)
    to = (rows[token], offsets[token] + place)
    x, y, segments, positions = np.zeros((4, count, width), np.int32)
    x[to] = examples.x[documents[token], place]
    y[to] = examples.y[documents[token], place]
    segments[to] = numbers[token]
    positions[to] = place
    weights = None
    if examples.weights is not None:
        weights = np.zeros((count, width), np.float32)
        weights[to] = examples.weights[documents[token], place]
    return Batch(x, y, segments, positions, weights)
