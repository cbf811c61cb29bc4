"""What padding, truncation, the longest length and the kind of tensor do to a batch, shown on a real one."""

import dataclasses
from typing import Any

import numpy as np

from attnlab_theory import refuse
from attnlab_theory.labs.reviews.material import Encoded, encoded
from attnlab_theory.language.corpora.buckets import in_buckets, lengths_of
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.text.vocabulary import OfSentences


@dataclasses.dataclass(frozen=True, kw_only=True)
class Padded:
    """What padding takes, in one way of making batches of all reviews."""

    way: str
    """For people."""
    places: int
    """Tokens and padding."""
    tokens: int
    shapes: int
    """Different shapes of batches: each is a program of its own to compile."""

    @property
    def wasted(self) -> float:
        """The share of places that are padding."""
        return 1 - self.tokens / self.places


def first_batch(reviews: Reviews, text: OfSentences, *, size: int, block: int) -> dict[str, Any]:
    """The first batch as the homework's collate function makes it: names, shapes, dtypes, and its first row.

    Args:
        reviews: at least one.
        text: their vocabulary.
        size: reviews of a batch.
        block: the longest row, marks among it.

    Raises:
        ValueError: as `encoded`, or if the size is not positive.
    """
    refuse.not_a_size(batch_size=size)
    found = encoded(reviews.take(range(min(size, len(reviews)))), text, block)
    arrays = {
        "input_ids": found.rows.tokens,
        "attention_mask": found.rows.mask,
        "label_encoding": found.rows.labels,
    }
    shortest = int(np.argmin(found.lengths))
    return {
        "arrays": {name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in arrays.items()},
        "reviews": len(found),
        "cut": found.cut,
        "lengths": found.lengths.tolist(),
        "shortest": {
            "text": reviews.texts[shortest],
            "input_ids": found.rows.tokens[shortest].tolist(),
            "attention_mask": found.rows.mask[shortest].astype(int).tolist(),
            "label": int(found.rows.labels[shortest]),
        },
    }


def ways(found: Encoded, *, size: int, block: int) -> tuple[Padded, ...]:
    """What padding takes of all reviews: to the block, to the longest of each batch, or in buckets.

    Args:
        found: the reviews, in the order of the file.
        size: reviews of a batch.
        block: the longest row.
    """
    lengths, tokens = lengths_of(found.rows), int(found.lengths.sum())
    starts = range(0, len(lengths), size)
    longest = [int(lengths[start : start + size].max()) for start in starts]
    rows = [len(lengths[start : start + size]) for start in starts]
    buckets = [bucket.batch.tokens.shape for bucket in in_buckets(found.rows, rows=size)]

    def padded(way: str, shapes: list[tuple[int, int]]) -> Padded:
        places = sum(b * t for b, t in shapes)
        return Padded(way=way, places=places, tokens=tokens, shapes=len(set(shapes)))

    return (
        padded("to max_length", [(b, block) for b in rows]),
        padded("to the longest of the batch", list(zip(rows, longest, strict=True))),
        padded("sorted, in buckets", [(b, t) for b, t in buckets]),
    )
