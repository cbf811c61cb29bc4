"""Training of any model to predict the next token of sentences, until the validation loss no longer falls."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory import refuse
from attnlab_theory.labs import batching
from attnlab_theory.labs.options import Mean
from attnlab_theory.labs.perplexity import losses
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.language.checkpoint import fingerprint
from attnlab_theory.language.models.model import KINDS, Config, Kind, Model
from attnlab_theory.language.optimizers import AdamW, Optimizer
from attnlab_theory.language.runs import Run
from attnlab_theory.language.schedules import Constant
from attnlab_theory.language.text.words import UNK_ID, Words
from attnlab_theory.language.train import Training
from attnlab_theory.plurals import agree, several, some_of

ADAM = AdamW(betas=(0.9, 0.999), decay=0.0, clip=math.inf)
"""torch's Adam, without weight decay and without clipping, as in homework ann-hw3."""


def next_token(
    material: Material,
    first: Callable[[], Model],
    config: Config,
    recipe: Recipe,
    *,
    block: int,
    origin: Mapping[str, Any],
    mean: Mean = "sentences",
    optimizer: Optimizer = ADAM,
    stops_early: bool = True,
    kinds: Mapping[str, Kind] = KINDS,
) -> Run:
    """A run of training on the sentences of a material.

    Args:
        material: the sentences.
        first: makes the model before the first step. Besides `summed_loss` it has `token_losses`.
        config: of that model.
        recipe: the most epochs, and the learning rate, which is constant.
        block: places of a row.
        origin: what else determines the parameters. It names a stage and a variant.
        mean: whether sentences or tokens have equal weights in the losses of training and of validation.
        optimizer: by default that of ann-hw3.
        stops_early: whether the validation loss ends the run. If not, validation sentences are not needed.
        kinds: the models that its files may hold.

    Raises:
        ValueError: if a number of the recipe is out of range, the model has another vocabulary, or a sentence has
            no token.
    """
    refuse.not_a_size(epochs=recipe.epochs, batch_size=recipe.batch)
    refuse.not_positive(learning_rate=recipe.rate)
    if recipe.rate == math.inf:
        raise ValueError("the learning rate must be finite, not inf; ann-hw3's is 1e-4")
    if config.vocabulary != len(material.text):
        raise ValueError(f"{material.source} has {len(material.text)} tokens, the model {config.vocabulary}")
    as_rows = functools.partial(encoded, text=material.text, block=block, mean=mean, source=material.source)
    learned, asked = as_rows(material.train), as_rows(material.validation) if stops_early else None
    # Packed, 32 sentences of 14 places fill 13 to 16 rows of 35: half as many rows as sentences hold most batches.
    recipe = dataclasses.replace(recipe, rows=batching.rows(recipe, on_processor=recipe.batch // 2 or 1))
    data = batching.batched(learned, recipe, width=block)
    return Run(
        first=first,
        config=config,
        text=material.text,
        epochs=data.batches,
        training=Training(
            schedule=Constant(always=recipe.rate),
            epochs=recipe.epochs,
            optimizer=optimizer,
            split=functools.partial(batching.CUTS[recipe.micro_batches], rows=recipe.rows),
            seed=recipe.seed,
            precision=recipe.precision,
        ),
        steps=data.steps,
        origin={
            **origin,
            "recipe": dataclasses.asdict(recipe),
            "mean": mean,
            "train": fingerprint(*material.train),
            "validation": fingerprint(*material.validation),
        },
        kinds=kinds,
        validation=None if asked is None else functools.partial(_loss, asked, mean),
        notes=(
            *_unknown(learned, material),
            *_cut(learned, "training", block),
            *(() if asked is None else _cut(asked, "validation", block)),
        ),
    )


def _unknown(read: Encoded, material: Material) -> tuple[str, ...]:
    """A line if most words are read as unknown: a model learns little from such a text."""
    if not isinstance(material.text, Words):
        return ()
    words = int(np.sum(read.lengths)) - len(read) + read.cut
    unknown = int(np.count_nonzero(read.rows.y == UNK_ID))
    if 2 * unknown <= words:
        return ()
    told = (
        f"{unknown:,} of {several(words, 'word')} of {material.source} {agree(unknown, 'is', 'are')} read as <UNK>"
    )
    return (f"{told}: the vocabulary lacks them (--least, --vocabulary)",)


def _cut(read: Encoded, kind: str, block: int) -> tuple[str, ...]:
    if not read.cut:
        return ()
    told = some_of(read.cut, len(read), f"{kind} sentence", "has", "have")
    told += f" more than {several(block - 1, 'token')} and {agree(read.cut, 'was', 'were')} cut"
    return (told,)


def _loss(asked: Encoded, mean: Mean, model: Any) -> float:
    found = losses(model, asked)
    return found.per_sentence if mean == "sentences" else found.per_token
