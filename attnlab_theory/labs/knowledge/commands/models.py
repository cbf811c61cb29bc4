"""What the commands that have a model share: its name, its sizes, its recipe. Nothing here imports jax."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from attnlab_theory.labs.knowledge.recipes import PRETRAINING, MicroBatches, Recipe
from attnlab_theory.language.precision import Precision

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.stages import Corpus
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.models.config import GPTConfig

VariantName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="VARIANT",
        help="vanilla, rope, sinusoidal, nope, alibi, synthesizer, random-synthesizer, additive, shared, features.",
    ),
]
"""A string and no literal: the names are the library's, and so is the complaint about an unknown one."""

PretrainCorpus = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="PRETRAIN_CORPUS",
        help="The text of pretraining, one document per line: the vocabulary comes from it, always.",
    ),
]


FALLS = {"2021": PRETRAINING[2021].fall, "2024": PRETRAINING[2024].fall, "cosine": None}
"""`Recipe.fall`, by schedule."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """Of a new model, by default the homework's; a model that is read has its own, and what is given must agree."""

    layers: int | None = None
    """By default 4."""
    heads: int | None = None
    """By default 8."""
    width: int | None = None
    """By default 256."""
    block_size: int | None = None
    """Characters of the longest document; by default 128."""
    dropout: float | None = None
    """By default 0.1, but 0 in store."""

    def start(self, variant: str, corpus: "Corpus", reading: Path | None) -> "GPTConfig | Saved":
        """A new model's configuration, or the model of a file.

        Raises:
            ValueError: if the variant is unknown, a size is out of range, or the file holds another model.
        """
        from attnlab_theory.labs.knowledge.stages import read_model
        from attnlab_theory.labs.knowledge.variants import configured

        fields = {"layers": self.layers, "heads": self.heads, "width": self.width, "block": self.block_size}
        if reading is not None:
            return read_model(reading, variant, corpus, **fields, residual_dropout=self.dropout)
        given = {name: number for name, number in fields.items() if number is not None}
        rate = {} if self.dropout is None else {"dropout": self.dropout}
        return configured(variant, vocabulary=len(corpus.characters), **rate, **given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changes:
    """To the homework's recipe."""

    epochs: int | None = None
    """Passes over the data; by default 650 in pretrain, 30 in store, in finetune 10 behind pretrain, else 75."""
    batch_size: int | None = None
    """Documents behind one step; by default 128 in pretrain, 256 in finetune and 48 in store."""
    lr: float | None = None
    """The highest learning rate; by default 6e-3 in pretrain, 6e-4 in finetune and 1e-3 in store."""
    schedule: Literal["2021", "2024", "cosine"] | None = None
    """The homework's learning rates of a year, which fall for 200 passes over the pretraining corpus (2021) or 650
    (2024) and then rise again, however many epochs there are; or one cosine over this run, after a warm-up. By
    default that of --year in pretrain, 2021 in finetune and cosine in store."""
    precision: Precision = "float32"
    """Of products and activations; parameters are always float32."""
    rows: int | None = None
    """Documents of a micro-batch, or packed rows; by default 4 in pretrain and else 8 on a processor, and
    elsewhere the whole batch or, if packed, a quarter of it."""
    micro_batches: MicroBatches = "sorted"
    """How a batch is cut: documents of similar length side by side, or several packed into a row, which is faster
    where most are short. The gradient is the same, dropout is not."""
    seed: int = 0
    """First weights, corruption and dropout follow from it."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        given = {"epochs": self.epochs, "batch": self.batch_size, "rate": self.lr, "rows": self.rows}
        given = {name: number for name, number in given.items() if number is not None}
        same = {"seed": self.seed, "precision": self.precision, "micro_batches": self.micro_batches}
        fall = recipe.fall if self.schedule is None else FALLS[self.schedule]
        return dataclasses.replace(recipe, **given | {"fall": fall, **same})
