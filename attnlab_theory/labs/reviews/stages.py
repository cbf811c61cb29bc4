"""What is trained on what: a classifier from first weights, or on an encoder that was pretrained."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attnlab_theory import refuse
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.reviews import answered
from attnlab_theory.labs.reviews.material import Encoded, Material, encoded
from attnlab_theory.labs.reviews.rules import SHUFFLED, OrderName
from attnlab_theory.labs.reviews.variants import Variant
from attnlab_theory.language.checkpoint import fingerprint
from attnlab_theory.language.corpora.buckets import alike, in_order, micro_batches
from attnlab_theory.language.corpora.labelled import LabelledBatch
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.runs import Run
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.train import Training

ROWS = 16
"""Rows of a micro-batch, if the recipe does not say: for a processor, where padding costs more than many calls."""


def training(
    material: Material,
    first: Callable[[], Classifier],
    config: ClassifierConfig,
    recipe: Recipe,
    variant: Variant,
    *,
    start: Mapping[str, Any] | None = None,
    stage: str = "train",
) -> Run:
    """Learn the labels of reviews, and watch the accuracy on both sets after every epoch.

    The learning rate rises over the first tenth of the steps and falls along a cosine.

    Args:
        material: what is read.
        first: the model before the first step.
        config: of that model.
        recipe: how long, and how many reviews behind a step; its rate and order are the variant's.
        variant: optimizer, learning rate and order.
        start: what the first model follows from besides the seed, for a model that was pretrained.
        stage: what this training is called.

    Raises:
        ValueError: if a number is out of range, or the model has another vocabulary.
    """
    rows = ROWS if recipe.rows is None else recipe.rows
    refuse.not_a_size(epochs=recipe.epochs, batch_size=recipe.batch, rows=rows)
    if config.vocabulary != len(material.text):
        raise ValueError(f"{material.source} has {len(material.text)} tokens, the model {config.vocabulary}")
    block = config.encoder.block
    learned = encoded(variant.ordered(material.train), material.text, block)
    asked = encoded(material.validation, material.text, block)
    steps = recipe.epochs * -(-len(learned) // recipe.batch)
    recipe = dataclasses.replace(recipe, rate=variant.rate, shuffled=variant.order in SHUFFLED)
    return Run(
        first=first,
        config=config,
        text=material.text,
        epochs=functools.partial(_epoch, learned.rows, recipe, variant.order),
        training=Training(
            schedule=Cosine(peak=recipe.rate, steps=steps, warmup=steps // 10),
            epochs=recipe.epochs,
            optimizer=variant.chosen,
            split=functools.partial(micro_batches, rows=rows),
            seed=recipe.seed,
            precision=recipe.precision,
        ),
        steps=steps,
        origin={
            "stage": stage,
            "variant": variant.name,
            "recipe": dataclasses.asdict(recipe),
            "start": start,
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
        "training accuracy": answered.accuracy(model, learned),
        "validation accuracy": answered.accuracy(model, asked),
    }


def _fingerprint(reviews: Reviews) -> str:
    return fingerprint(*reviews.texts, "".join(map(str, reviews.labels)))
