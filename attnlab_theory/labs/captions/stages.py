"""What is trained on what: captions from first weights, or from a model that knows another text."""

import dataclasses
import functools
import math
from typing import Any

from attnlab_theory import refuse
from attnlab_theory.labs import batching
from attnlab_theory.labs.captions import evaluate, heads
from attnlab_theory.labs.captions.material import Encoded, Material, encoded
from attnlab_theory.labs.captions.rules import Longer, Mean
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.language.checkpoint import Saved, fingerprint, fingerprint_of_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.runs import Run
from attnlab_theory.language.schedules import Constant
from attnlab_theory.language.train import Optimizer, Training
from attnlab_theory.seeds import key_for

ADAM = Optimizer(betas=(0.9, 0.999), decay=0.0, clip=math.inf)
"""The homework's: torch's Adam, without weight decay and without clipping."""

Start = GPTConfig | Saved
"""A configuration, for first weights from the recipe's seed, or a model to go on from."""


def training(
    material: Material,
    start: Start,
    recipe: Recipe,
    *,
    variant: str,
    stage: str = "train",
    longer: Longer = "cut",
    mean: Mean = "sentences",
    permute: bool = False,
) -> Run:
    """Next-token prediction on captions, until the validation loss no longer falls.

    Args:
        material: what is read.
        start: where training begins.
        recipe: how long and how fast.
        variant: what the model is called.
        stage: what this training is called.
        longer: what happens to a sentence that does not fit into the block.
        mean: what weighs the same in the loss, in training and in validation.
        permute: whether the features are permuted before they are cut into heads (`heads.permuted`).

    Raises:
        ValueError: if a number of the recipe is out of range, the model reads another vocabulary, or as `encoded`.
    """
    _refuse(recipe)
    config = start.model.config if isinstance(start, Saved) else start
    if isinstance(start, Saved):
        refuse_other_text(start, material)
    elif config.vocabulary != len(material.text):
        raise ValueError(f"{material.source} has {len(material.text)} tokens, the model {config.vocabulary}")
    learned, asked = (
        encoded(each, material.text, config.block, longer=longer, mean=mean, source=material.source)
        for each in (material.train, material.validation)
    )
    # Packed, 32 captions of 14 places fill 13 to 16 rows of 35: half as many rows as sentences hold most batches.
    recipe = dataclasses.replace(recipe, rows=batching.rows(recipe, on_processor=recipe.batch // 2 or 1))
    data = batching.batched(learned, recipe, width=config.block)
    return Run(
        first=lambda: (
            start.model if isinstance(start, Saved) else GPT(start, key=key_for(recipe.seed, "parameters"))
        ),
        config=config,
        text=material.text,
        epochs=data.batches,
        training=Training(
            schedule=Constant(always=recipe.rate),
            epochs=recipe.epochs,
            optimizer=ADAM,
            split=functools.partial(batching.CUTS[recipe.micro_batches], rows=recipe.rows),
            seed=recipe.seed,
            precision=recipe.precision,
        ),
        steps=data.steps,
        origin={
            "stage": stage,
            "variant": variant,
            "recipe": dataclasses.asdict(recipe),
            "mean": mean,
            "train": fingerprint(*material.train),
            "validation": fingerprint(*material.validation),
            "start": _origin(start),
            **({"permuted": True} if permute else {}),
        },
        validation=functools.partial(_loss, asked, mean),
    )


def refuse_other_text(saved: Saved, material: Material) -> None:
    """Refuse a model that reads other tokens than the material is made of.

    Raises:
        ValueError: naming a token that only one of them has.
    """
    theirs, ours = saved.text.as_json(), material.text.as_json()
    if theirs == ours:
        return
    if theirs["kind"] != ours["kind"]:
        raise ValueError(
            f"the model reads {theirs['kind']} and {material.source} is read as {ours['kind']}: name the same unit"
        )
    differing = sorted(set(theirs.get("words", ())) ^ set(ours.get("words", ())))
    raise ValueError(
        f"the model was trained with another vocabulary than that of {material.source}"
        + (f": only one of them has {differing[0]!r}" if differing else "")
    )


def _refuse(recipe: Recipe) -> None:
    refuse.not_a_size(epochs=recipe.epochs, batch_size=recipe.batch)
    refuse.not_positive(learning_rate=recipe.rate)
    if recipe.rate == math.inf:
        raise ValueError("the learning rate must be finite, not inf; the homework's is 1e-4")


def _loss(asked: Encoded, mean: Mean, model: GPT) -> float:
    losses = evaluate.losses(model, asked)
    return losses.per_sentence if mean == "sentences" else losses.per_token


def _first(start: Start, seed: int, permute: bool) -> GPT:
    model = start.model if isinstance(start, Saved) else GPT(start, key=key_for(seed, "parameters"))
    return heads.permuted(model, key_for(seed, "permutation")) if permute else model


def _origin(start: Start) -> dict[str, Any] | None:
    if not isinstance(start, Saved):
        return None
    return {"parameters": fingerprint_of_model(start.model), "origin": start.about.get("origin")}
