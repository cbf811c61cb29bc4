"""What do padding, truncation, the longest length and the kind of tensor do to batches of reviews?

    python experiments/labs/review_batches.py --preset minilm --train stsa.binary.train \\
        --validation stsa.binary.dev --test stsa.binary.test
"""

import dataclasses
import time
from typing import Any

import numpy as np
import tyro

from attnlab_theory import exits, refuse
from attnlab_theory.labs.reviews.arms import PRESETS, PresetName
from attnlab_theory.labs.reviews.data import Data
from attnlab_theory.labs.reviews.material import Encoded, encoded
from attnlab_theory.language.corpora.buckets import in_buckets, lengths_of
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.options import parsed_in_one_line

SHOWN = 24
"""Numbers of a row that are printed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Padded:
    """The padding of one way to make batches of all reviews."""

    way: str
    """The name of this way, for people."""
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
        ValueError: if `encoded` refuses the reviews, or the size is not positive.
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
    """The padding of all reviews: to the block, to the longest of each batch, or in buckets.

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowBatch:
    """Show the first batch of the training reviews, and what padding and truncation do to all of them."""

    preset: PresetName = "tiny"
    """Whose tokens are shown. tiny: the words of the training reviews. minilm: parts of words."""
    data: Data = dataclasses.field(default_factory=Data)
    batch_size: int = 64
    """Reviews of a batch."""
    max_length: int | None = None
    """Places in the longest row, both marks among them. Longer reviews are cut, and counted. By default as many as
    the model has."""
    seed: int = 0
    """Seed of the reviews that are drawn."""

    def run(self) -> int:
        """Make the batches and print.

        Raises:
            ValueError: if the model has fewer places than a row, or the input is bad.
        """
        reviews, start = self.data.beginning(PRESETS[self.preset])
        material = reviews(self.seed)
        most = start(material).config.encoder.block
        block = most if self.max_length is None else self.max_length
        if block > most:
            raise ValueError(
                f"--max-length {block} is more than the {most} places that the model {self.preset} has"
            )
        told = first_batch(material.train, material.text, size=self.batch_size, block=block)
        began = time.perf_counter()
        every = encoded(material.train, material.text, block)
        told |= {
            "seconds_to_encode_all": round(time.perf_counter() - began, 3),
            "sizes": {name: len(getattr(material, name)) for name in ("train", "validation", "test")},
            "max_length": block,
            "cut_of_all": every.cut,
            "longest": int(every.lengths.max()),
            "padding": [
                {**vars(way), "wasted": way.wasted} for way in ways(every, size=self.batch_size, block=block)
            ],
        }
        print(_page(told))
        return 0


def _page(told: dict[str, Any]) -> str:
    sizes, shortest = told["sizes"], told["shortest"]
    lines = [
        "reviews: " + ", ".join(f"{size:,} for {name}" for name, size in sizes.items()),
        "",
        f"The first batch of {told['reviews']} reviews (return_tensors: arrays, not lists)",
        *(f"  {name:15} {each['dtype']:6} {each['shape']}" for name, each in told["arrays"].items()),
        "",
        f"Its shortest review: {shortest['text']}",
        f"  input_ids       {_row(shortest['input_ids'])}",
        f"  attention_mask  {_row(shortest['attention_mask'])}",
        f"  label           {shortest['label']}",
        "",
        f"collate function: all {sizes['train']:,} reviews are cut into tokens and padded in "
        f"{told['seconds_to_encode_all']:.2f} s, once: no worker is needed",
        f"truncation: {told['cut_of_all']} of {sizes['train']:,} reviews are longer than max_length "
        f"{told['max_length']} and are cut; the longest row has {told['longest']} tokens",
        "",
        f"{'padding':28} {'places':>12} {'of them padding':>16} {'shapes':>7}",
        *(f"{w['way']:28} {w['places']:>12,} {w['wasted']:>16.1%} {w['shapes']:>7}" for w in told["padding"]),
    ]
    return "\n".join(lines)


def _row(numbers: list[int]) -> str:
    said = " ".join(map(str, numbers[:SHOWN]))
    return f"{said} … ({len(numbers)} in all)" if len(numbers) > SHOWN else said


if __name__ == "__main__":
    config = (tyro.conf.OmitArgPrefixes,)
    raise SystemExit(exits.exit_code(lambda: parsed_in_one_line(lambda: tyro.cli(ShowBatch, config=config)).run()))
