"""The training of a classifier, from first weights or on a pretrained encoder."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Literal

from attnlab_theory import refuse
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews.answers import accuracy
from attnlab_theory.labs.reviews.arms import SHUFFLED, Arm, OptimizerName, OrderName
from attnlab_theory.labs.reviews.material import Encoded, Material, encoded
from attnlab_theory.labs.reviews.starts import Start
from attnlab_theory.language.checkpoint import fingerprint
from attnlab_theory.language.corpora.buckets import alike, in_order, micro_batches
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.optimizers import SGD, AdamW, NeverZeroed, RMSprop
from attnlab_theory.language.runs import Run
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.train import Training

OPTIMIZERS: Mapping[OptimizerName, AdamW | SGD | RMSprop] = {
    "adamw": AdamW(betas=(0.9, 0.999), decay=0.01, clip=1.0),
    "sgd": SGD(clip=1.0),
    "rmsprop": RMSprop(clip=1.0),
}
"""The optimizers, with torch's numbers. Gradients are clipped to length one, so that no rate diverges at once."""

ROWS = 16
"""Rows of a micro-batch by default, for a processor. There padding costs more than many calls."""


def training(
    material: Material, start: Start, recipe: Recipe, arm: Arm, *, stage: Literal["train", "trial"] = "train"
) -> Run:
    """Learn the labels of reviews, and watch the accuracy on both sets after every epoch.

    The learning rate rises over the first tenth of the steps and falls along a cosine.

    Args:
        material: the reviews.
        start: the model before the first step.
        recipe: epochs and batch size. Rate and order are the arm's.
        arm: optimizer, learning rate and order.
        stage: whether it is a trial of a search.

    Raises:
        ValueError: if a number is out of range, or the model has another vocabulary.
    """
    rows = ROWS if recipe.rows is None else recipe.rows
    refuse.not_a_size(epochs=recipe.epochs, batch_size=recipe.batch, rows=rows)
    config = start.config
    if config.vocabulary != len(material.text):
        raise ValueError(f"{material.source} has {len(material.text)} tokens, the model {config.vocabulary}")
    block = config.encoder.block
    learned = encoded(arm.ordered(material.train), material.text, block)
    asked = encoded(material.validation, material.text, block)
    optimizer = OPTIMIZERS[arm.optimizer]
    steps = recipe.epochs * -(-len(learned) // recipe.batch)
    recipe = dataclasses.replace(recipe, rate=arm.rate, shuffled=arm.order in SHUFFLED)
    return Run(
        first=lambda: start.first(recipe.seed),
        config=config,
        text=material.text,
        epochs=functools.partial(_epoch, learned.rows, recipe, arm.order),
        training=Training(
            schedule=Cosine(peak=recipe.rate, steps=steps, warmup=steps // 10),
            epochs=recipe.epochs,
            optimizer=optimizer if arm.zeroed else NeverZeroed(of=optimizer),
            split=functools.partial(micro_batches, rows=rows),
            seed=recipe.seed,
            precision=recipe.precision,
        ),
        steps=steps,
        origin={
            "stage": stage,
            "variant": arm.name,
            "recipe": dataclasses.asdict(recipe),
            "start": start.about,
            "train": _fingerprint(material.train),
            "validation": _fingerprint(material.validation),
        },
        watched=functools.partial(_accuracies, learned, asked),
        notes=(*learned.notes("training reviews"), *asked.notes("validation reviews")),
    )


def _epoch(rows: LabelledBatch, recipe: Recipe, order: OrderName, number: int) -> Iterator[LabelledBatch]:
    if order == "alike":
        return alike(rows, recipe.batch, shuffled=(recipe.seed, number))
    return in_order(rows, recipe.batch, shuffled=(recipe.seed, number) if recipe.shuffled else None)


def _accuracies(learned: Encoded, asked: Encoded, model: Classifier) -> dict[str, float]:
    return {
        "training accuracy": accuracy(model, learned),
        "validation accuracy": accuracy(model, asked),
    }


def _fingerprint(reviews: Reviews) -> str:
    return fingerprint(*reviews.texts, "".join(map(str, reviews.labels)))
