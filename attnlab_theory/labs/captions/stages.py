"""What is trained on what: captions from first weights, or from a model that knows another text."""

import functools
from typing import Any

from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.options import Longer, Mean
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.checkpoint import Saved, fingerprint_of_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.model import untrained
from attnlab_theory.language.runs import Run
from attnlab_theory.seeds import key_for

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
        ValueError: if the model reads another vocabulary, or as `next_token`.
    """
    config = start.model.config if isinstance(start, Saved) else start
    if isinstance(start, Saved):
        refuse_other_text(start, material)
    return next_token(
        material,
        functools.partial(_first, start, recipe.seed, permute),
        config,
        recipe,
        block=config.block,
        origin={
            "stage": stage,
            "variant": variant,
            "start": _origin(start),
            **({"permuted": True} if permute else {}),
        },
        longer=longer,
        mean=mean,
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


def _first(start: Start, seed: int, permute: bool) -> GPT:
    model = start.model if isinstance(start, Saved) else untrained(GPT, start, key=key_for(seed, "parameters"))
    return heads.permuted(model, key_for(seed, "permutation")) if permute else model


def _origin(start: Start) -> dict[str, Any] | None:
    if not isinstance(start, Saved):
        return None
    return {"parameters": fingerprint_of_model(start.model), "origin": start.about.get("origin")}
