"""Batches, steps and learning rates of a data set, by a recipe."""

import functools
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import jax

from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.language.corpora.batches import Batch, by_length, by_packing, in_file_order, pack, shuffled
from attnlab_theory.language.schedules import Cosine, HomeworkCosine, Schedule
from attnlab_theory.language.train import Epochs, Training

CUTS = {"sorted": by_length, "packed": by_packing}
"""Functions that cut a batch, by `Recipe.micro_batches`."""


@runtime_checkable
class Dataset(Protocol):
    """Documents, which may be drawn again in every epoch."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def epoch(self, number: int, /) -> Batch:
        """All documents of an epoch. The same number always gives the same documents."""
        ...


class Data(NamedTuple):
    """The data of a whole stage."""

    batches: Epochs
    steps: int
    """The number of steps in all epochs together."""


def batched(dataset: Dataset, recipe: Recipe, *, width: int) -> Data:
    """The batches of all epochs.

    Args:
        dataset: the documents.
        recipe: how many documents make a batch, in which order, and whether rows are packed.
        width: of a packed row, in places.
    """
    return _packed(dataset, width, recipe) if recipe.packed else _one_per_row(dataset, recipe)


def training(recipe: Recipe, places: int, steps: int) -> Training:
    """The recipe's numbers for one run.

    Args:
        recipe: with a number of `rows`, as the function `rows` gives it.
        places: of one pass over the pretraining corpus. The homework's cosine counts them.
        steps: the number of steps of the run.

    Raises:
        ValueError: if the corpus is too short for the homework's warm-up.
    """
    if recipe.fall is None:
        schedule: Schedule = Cosine(peak=recipe.rate, steps=steps, warmup=steps // 100)
    elif recipe.fall * places <= HomeworkCosine.warmup_tokens:
        raise ValueError(
            f"the homework's learning rate warms up for {HomeworkCosine.warmup_tokens:,} characters, PAD included, "
            f"and {recipe.fall} passes over this corpus are only {recipe.fall * places:,}: take a longer corpus or "
            "the schedule cosine"
        )
    else:
        schedule = HomeworkCosine(peak=recipe.rate, final_tokens=recipe.fall * places)
    return Training(
        schedule=schedule,
        epochs=recipe.epochs,
        split=_whole if recipe.packed else functools.partial(CUTS[recipe.micro_batches], rows=recipe.rows),
        seed=recipe.seed,
        precision=recipe.precision,
    )


def rows(recipe: Recipe, *, on_processor: int) -> int:
    """The rows of a micro-batch: by the recipe, or as many as suit the device.

    Args:
        recipe: whose batches are cut.
        on_processor: how many rows fit into the caches of a processor, about 400 places together.
    """
    if recipe.rows is not None:
        return recipe.rows
    if jax.default_backend() == "cpu":
        return on_processor
    # A packed batch fills half of its rows or less. Two micro-batches would write and add the whole gradient twice.
    return recipe.batch if recipe.micro_batches == "sorted" else -(-recipe.batch // 2)


def _one_per_row(dataset: Dataset, recipe: Recipe) -> Data:
    def batches(number: int) -> Iterator[Batch]:
        return in_file_order(_ordered(dataset.epoch(number), recipe, number), recipe.batch)

    return Data(batches, recipe.epochs * -(-len(dataset) // recipe.batch))


def _packed(dataset: Dataset, width: int, recipe: Recipe) -> Data:
    def rows(number: int) -> Batch:
        return pack(dataset.epoch(number), width=width)

    def batches(number: int) -> Iterator[Batch]:
        return in_file_order(_ordered(rows(number), recipe, number), recipe.batch, fill=True)

    # How many rows an epoch takes depends on what is cut out in it.
    return Data(batches, sum(-(-len(rows(number).x) // recipe.batch) for number in range(recipe.epochs)))


def _ordered(examples: Batch, recipe: Recipe, epoch: int) -> Batch:
    return shuffled(examples, seed=recipe.seed, epoch=epoch) if recipe.shuffled else examples


def _whole(batch: Batch) -> tuple[Batch, ...]:
    return (batch,)
