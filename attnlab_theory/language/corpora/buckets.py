"""Labelled rows of similar length in the same batch, and batches of few shapes: little padding, few programs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from attnlab_theory import refuse
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch

WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The widths. Each is at most 1.5 times the one before, so less than a third of a row is padding for the width."""

POOL = 16
"""How many batches have their rows sorted together."""


class Bucket(NamedTuple):
    """Rows of one width, and where they come from."""

    rows: Int[np.ndarray, " rows"]
    """The places of the rows in the whole. Rows of padding have none, and stand at the end."""
    batch: LabelledBatch


def in_buckets(whole: LabelledBatch, *, rows: int, widths: Sequence[int] = WIDTHS) -> list[Bucket]:
    """All rows, longest first, each bucket only as wide as it must be.

    Args:
        whole: any.
        rows: of every bucket; the last one is filled with rows of padding.
        widths: the widths that buckets may have, besides the width of the whole.

    Raises:
        ValueError: if `rows` is not a positive whole number.
    """
    refuse.not_a_size(rows=rows)
    lengths, most = lengths_of(whole), whole.tokens.shape[1]
    order = np.argsort(-lengths, kind="stable")
    return list(_cut(whole, order, lengths, rows, [width for width in sorted(widths) if width < most] + [most]))


def _cut(
    whole: LabelledBatch, order: np.ndarray, lengths: np.ndarray, rows: int, widths: Sequence[int]
) -> Iterator[Bucket]:
    for start in range(0, len(order), rows):
        chosen = order[start : start + rows]
        width = next(width for width in widths if width >= lengths[chosen[0]])
        yield Bucket(chosen, whole.take(chosen, width).filled(rows))


def micro_batches(batch: LabelledBatch, *, rows: int) -> list[LabelledBatch]:
    """A batch of training as buckets. The summed losses and gradients are those of the batch.

    Raises:
        ValueError: if `rows` is not a positive whole number.
    """
    return [bucket.batch for bucket in in_buckets(batch, rows=rows)]


def in_order(
    whole: LabelledBatch, size: int, *, shuffled: tuple[int, int] | None = None
) -> Iterator[LabelledBatch]:
    """Batches of `size` rows. The last one may be shorter.

    Args:
        whole: an epoch.
        size: rows of a batch.
        shuffled: a seed and the number of an epoch, which fix the order. None: the order of the whole.

    Raises:
        ValueError: if `size` is not a positive whole number.
    """
    refuse.not_a_size(size=size)
    count = len(whole.tokens)
    order = np.arange(count) if shuffled is None else np.random.default_rng(shuffled).permutation(count)
    return (whole.take(order[start : start + size]) for start in range(0, count, size))


def alike(whole: LabelledBatch, size: int, *, shuffled: tuple[int, int]) -> Iterator[LabelledBatch]:
    """Batches of rows of similar length.

    The rows of `POOL` random batches are sorted by length and cut into batches again. The order of the batches is
    random. Only the last one of the epoch, which may be shorter, stays the last.

    Args:
        whole: an epoch.
        size: rows of a batch.
        shuffled: a seed and the number of an epoch, which fix the order.

    Raises:
        ValueError: if `size` is not a positive whole number.
    """
    refuse.not_a_size(size=size)
    lengths, rng = lengths_of(whole), np.random.default_rng(shuffled)
    order = rng.permutation(len(lengths))
    pools = [order[start : start + POOL * size] for start in range(0, len(order), POOL * size)]
    by_length = np.concatenate([pool[np.argsort(-lengths[pool], kind="stable")] for pool in pools])
    batches = [by_length[start : start + size] for start in range(0, len(order), size)]
    places = [*rng.permutation(len(batches) - 1), len(batches) - 1]
    return (whole.take(batches[place]) for place in places)


def lengths_of(whole: LabelledBatch) -> Int[np.ndarray, " rows"]:
    """For every row the place of its last token, plus one; 0 for nothing but padding."""
    mask = np.asarray(whole.mask)
    return np.where(mask.any(axis=1), mask.shape[1] - np.argmax(mask[:, ::-1], axis=1), 0)
