"""attnlab reviews batch: what a tokenizer's arguments do, on real reviews."""

import dataclasses
import json
import time
from typing import Any

from attnlab_theory.labs.reviews.arms import PRESETS, PresetName
from attnlab_theory.labs.reviews.data import Data

SHOWN = 24
"""Numbers of a row that are printed."""


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
    """Of reviews that are drawn."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Make the batches and print.

        Raises:
            ValueError: if the model has fewer places than a row, or of bad input.
        """
        from attnlab_theory.labs.reviews import batches
        from attnlab_theory.labs.reviews.material import encoded

        reviews, start = self.data.beginning(PRESETS[self.preset])
        material = reviews(self.seed)
        most = start(material).config.encoder.block
        block = most if self.max_length is None else self.max_length
        if block > most:
            raise ValueError(
                f"--max-length {block} is more than the {most} places that the model {self.preset} has"
            )
        told = batches.first_batch(material.train, material.text, size=self.batch_size, block=block)
        began = time.perf_counter()
        every = encoded(material.train, material.text, block)
        told |= {
            "seconds_to_encode_all": round(time.perf_counter() - began, 3),
            "sizes": {name: len(getattr(material, name)) for name in ("train", "validation", "test")},
            "max_length": block,
            "cut_of_all": every.cut,
            "longest": int(every.lengths.max()),
            "padding": [
                {**vars(way), "wasted": way.wasted}
                for way in batches.ways(every, size=self.batch_size, block=block)
            ],
        }
        print(json.dumps(told, indent=1, ensure_ascii=False) if self.json else _page(told))
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
