"""What the caption lab trains: models of captions, from first weights or from a model of another text."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.captions.arms import ARMS, Preset
from attnlab_theory.labs.engine.lab import Lab, Stage
from attnlab_theory.labs.next_token import next_token
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.labs.starts import Start, config_of, first, origin
from attnlab_theory.language.checkpoint import Saved
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.mixers import DroppedHeads
from attnlab_theory.language.runs import Run
from attnlab_theory.seeds import key_for


class Model(NamedTuple):
    """A trained model of the lab."""

    arm: str
    seed: int
    saved: Saved


@dataclasses.dataclass(frozen=True, kw_only=True)
class Captions(Lab):
    """Models that differ in one thing from those of a preset.

    Raises:
        ValueError: if there is no arm, or one is unknown, named twice or does not fit the preset.
    """

    preset: Preset
    material: Callable[[int], Material]
    """The captions of a seed."""
    other: Callable[[int], Material]
    """The text of pretraining of a seed, in the vocabulary of the captions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            config(arm, self.preset, vocabulary=2)

    def stages(self, arm: str, seed: int) -> Iterator[Stage]:
        """One stage, or for a pretrained arm two, of which the first reads the other text.

        Raises:
            ValueError: if a number of the preset is out of range, or a sentence does not fit.
        """
        material, chosen = self.material(seed), ARMS[arm]
        start: Start = config(arm, self.preset, vocabulary=len(material.text))
        recipe = dataclasses.replace(self.preset.recipe, seed=seed)
        train = functools.partial(training, arm=arm)
        if chosen.pretrained:
            before = f"{arm}.before"
            yield Stage(train(self.other(seed), start, recipe, stage="pretrain"), self.path(before, seed))
            start = self.saved(before, seed)
        recipe = dataclasses.replace(recipe, shuffled=chosen.shuffled)
        yield Stage(train(material, start, recipe, permute=chosen.permuted), self.path(arm, seed))

    def encoded(self, sentences: Sequence[str], seed: int) -> Encoded:
        """Sentences as the models of a seed read them.

        Raises:
            ValueError: if there is no sentence, one has no token, or one does not fit.
        """
        material = self.material(seed)
        return encoded(sentences, material.text, self.preset.block, source=material.source)

    def models(self) -> Iterator[Model]:
        """Every trained model, one at a time.

        Raises:
            ValueError: if one is missing.
        """
        for seed in self.seeds:
            for arm in self.arms_of(seed):
                yield Model(arm, seed, self.saved(arm, seed))


def config(arm: str, preset: Preset, *, vocabulary: int) -> GPTConfig:
    """The configuration of an arm.

    Raises:
        ValueError: if there is no such arm, or it does not fit the preset.
    """
    if arm not in ARMS:
        raise ValueError(f"an arm is one of {', '.join(ARMS)}, not {arm!r}")
    chosen, numbers = ARMS[arm], preset.model
    if chosen.heads is not None:
        numbers["heads"] = chosen.heads
    if chosen.head_dropout:
        numbers["mixer"] = DroppedHeads(chosen.head_dropout)
    return GPTConfig(vocabulary=vocabulary, **numbers)


def training(
    material: Material,
    start: Start,
    recipe: Recipe,
    *,
    arm: str,
    stage: str = "train",
    permute: bool = False,
) -> Run:
    """Next-token prediction on captions, until the validation loss no longer falls.

    Args:
        material: the captions.
        start: where training begins.
        recipe: the most epochs, the learning rate, the batches.
        arm: the name of the model.
        stage: the name of this training.
        permute: whether the features are permuted before they are cut into heads (`heads.permuted`).

    Raises:
        ValueError: if the model reads another vocabulary, a number of the recipe is out of range, or a sentence has
            no token or does not fit.
    """
    model = config_of(start)
    if isinstance(start, Saved):
        _refuse_other_text(start, material)
    return next_token(
        material,
        functools.partial(_first, start, recipe.seed, permute),
        model,
        recipe,
        block=model.block,
        origin={
            "stage": stage,
            "variant": arm,
            "start": origin(start),
            **({"permuted": True} if permute else {}),
        },
    )


def _refuse_other_text(saved: Saved, material: Material) -> None:
    """Refuse a model with another vocabulary than the material. The message names a token that only one of them
    has.
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
    model = first(start, seed)
    return heads.permuted(model, key_for(seed, "permutation")) if permute else model
