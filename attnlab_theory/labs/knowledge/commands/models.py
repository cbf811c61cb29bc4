"""What the commands that have a model share: its variant, its size, its recipe. Nothing here imports jax."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from attnlab_theory.labs.knowledge.recipes import PRETRAINING
from attnlab_theory.labs.options import ModelSizes, RecipeChanges
from attnlab_theory.labs.recipes import Recipe

if TYPE_CHECKING:
    from attnlab_theory.labs.knowledge.stages import Corpus
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.models.config import GPTConfig

VariantName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="VARIANT",
        help="The model: vanilla, rope, sinusoidal, nope, alibi, synthesizer, random-synthesizer, additive, "
        "shared, features.",
    ),
]
"""A string and no literal: the names are the library's, and so is the complaint about an unknown one."""

PretrainCorpus = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="PRETRAIN_CORPUS",
        help="The text of pretraining, one document per line. Every stage takes the vocabulary from it.",
    ),
]

FALLS = {"2021": PRETRAINING[2021].fall, "2024": PRETRAINING[2024].fall, "cosine": None}
"""`Recipe.fall`, by schedule."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(ModelSizes):
    """The size of a new model. The defaults are the homework's: 4 layers, 8 heads, width 256, block size 128.

    A model that is read from a file keeps its size. A size that is given must then agree with the file's.
    """

    dropout: float | None = None
    """Dropout rate. By default 0.1, in store 0."""

    def start(self, variant: str, corpus: "Corpus", reading: Path | None) -> "GPTConfig | Saved":
        """A new model's configuration, or the model of a file.

        Raises:
            ValueError: if the variant is unknown, a size is out of range, or the file holds another model.
        """
        from attnlab_theory.labs.knowledge.stages import read_model
        from attnlab_theory.labs.knowledge.variants import configured

        if reading is not None:
            return read_model(reading, variant, corpus, **self.given, residual_dropout=self.dropout)
        rate = {} if self.dropout is None else {"dropout": self.dropout}
        return configured(variant, vocabulary=len(corpus.characters), **rate, **self.given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changes(RecipeChanges):
    """How the model is trained. The defaults are the homework's; store has its own.

    Epochs: 650 in pretrain, 30 in store, 10 in finetune after pretraining, 75 in finetune from scratch.
    Batch size: 128 in pretrain, 256 in finetune, 48 in store.
    Learning rate: 6e-3 in pretrain, 6e-4 in finetune, 1e-3 in store.
    Rows of a micro-batch: on a processor 4 in pretrain, 8 in finetune and store. On another device the whole batch,
    or a quarter of it if micro-batches are packed.
    """

    schedule: Literal["2021", "2024", "cosine"] | None = None
    """How the learning rate changes.
    2021 and 2024: as in the homework of that year.
    The rate falls for as long as 200 (2021) or 650 (2024) passes over the pretraining corpus take.
    Afterwards it rises again.
    cosine: one cosine over this run, after a warm-up.
    By default that of --year in pretrain, 2021 in finetune, cosine in store."""

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with what was given."""
        fall = recipe.fall if self.schedule is None else FALLS[self.schedule]
        return dataclasses.replace(super().of(recipe), fall=fall)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainChanges(Changes):
    """How the model is trained. The defaults are the homework's; store has its own."""

    __doc__ = Changes.__doc__

    lr: Annotated[float | None, tyro.conf.arg(aliases=["--pretrain-lr"])] = None
    """The highest learning rate. The homework of some years calls it --pretrain_lr."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuneChanges(Changes):
    """How the model is trained. The defaults are the homework's; store has its own."""

    __doc__ = Changes.__doc__

    lr: Annotated[float | None, tyro.conf.arg(aliases=["--finetune-lr"])] = None
    """The highest learning rate. The homework of some years calls it --finetune_lr."""
