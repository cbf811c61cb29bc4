"""How well trained models predict captions, and how arms differ over seeds."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attnlab_theory.labs.captions.arms import BASE
from attnlab_theory.labs.captions.lab import Captions, Model
from attnlab_theory.labs.estimates import ANYTHING, Estimate, Estimates, over_seeds
from attnlab_theory.labs.perplexity import Losses, floor, losses
from attnlab_theory.labs.training import best_epoch, by_epoch
from attnlab_theory.plurals import some_of
from attnlab_theory.stats import Interval

GAINED = {
    "test loss gained": "test loss",
    "epochs gained": "best epoch",
    "gap gained": "validation loss less training loss",
}
"""Each quantity that compares an arm with `BASE`, and the number whose difference it is."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The losses of one trained model, in training and on sentences that it has not seen."""

    arm: str
    seed: int
    test: Losses
    learned: Losses
    """The losses on training sentences."""
    validated: tuple[float, ...]
    """The validation loss after every epoch."""
    trained: tuple[float, ...]
    """The training loss of every epoch, while the model changes and with dropout."""
    above: Estimates
    """How far its test loss lies above the grammar's own, if a grammar is known."""

    @property
    def gap(self) -> float:
        """The validation loss minus the training loss, both of the finished model."""
        return min(self.validated) - self.learned.per_sentence

    @property
    def trained_on(self) -> float:
        """The training loss of the last epoch minus that of the best one, after which the validation loss rises."""
        return self.trained[-1] - self.trained[best_epoch(self.validated) - 1]

    @property
    def curve(self) -> list[dict[str, Any]]:
        """Training and validation loss by epoch."""
        losses = enumerate(zip(self.validated, self.trained, strict=True), start=1)
        return [
            {"arm": self.arm, "seed": self.seed, "epoch": epoch, "loss": loss, "training": training}
            for epoch, (loss, training) in losses
        ]

    @property
    def summary(self) -> "Summary":
        """The numbers for comparisons over seeds."""
        numbers = {
            "perplexity of sentences": self.test.perplexity_of_sentences,
            "perplexity of tokens": self.test.perplexity_of_tokens,
            "test loss": self.test.per_token,
            "best epoch": float(best_epoch(self.validated)),
            "validation loss less training loss": self.gap,
            "training loss less that of the best epoch": self.trained_on,
        }
        return Summary(arm=self.arm, seed=self.seed, numbers=numbers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """A trained model as one number for each quantity: all that is kept of it when runs are joined."""

    arm: str
    seed: int
    numbers: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """All numbers in one level."""
        return {"arm": self.arm, "seed": self.seed, **self.numbers}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Summary":
        """What `as_json` wrote."""
        numbers = {name: float(number) for name, number in value.items() if name not in ("arm", "seed")}
        return cls(arm=value["arm"], seed=value["seed"], numbers=numbers)


def ask(model: Model, lab: Captions) -> Evaluation:
    """The losses of one model on its test sentences, and on as many training sentences."""
    material, about = lab.material(model.seed), model.saved.about
    found = losses(model.saved.model, lab.encoded(material.test, model.seed))
    learned = lab.encoded(material.train[: len(material.test)], model.seed)
    return Evaluation(
        arm=model.arm,
        seed=model.seed,
        test=found,
        learned=losses(model.saved.model, learned),
        validated=tuple(about["validated"]),
        trained=by_epoch(about["losses"], len(about["validated"])),
        above=floor(found, material.test, material.grammar, lab.preset.block, arm=model.arm, seed=model.seed),
    )


def compare(models: Sequence[Summary]) -> Estimates:
    """Perplexities, epochs and gaps by arm, and their differences from those of `BASE`.

    A quantity that not all models of an arm have is left out.
    """
    found: list[Estimate] = []
    for arm, of_arm in by_arm(models).items():
        for quantity in of_arm[0].numbers:
            values = [model.numbers[quantity] for model in of_arm if quantity in model.numbers]
            if len(values) == len(of_arm):
                within = ANYTHING if "less" in quantity else Interval(0.0, math.inf)
                found.append(over_seeds(quantity, values, within=within, arm=arm))
    return Estimates((*found, *_against_base(models)))


def left_out(models: Sequence[Summary]) -> Iterator[str]:
    """A line for each number that some models of an arm lack."""
    for arm, of_arm in by_arm(models).items():
        for quantity in dict.fromkeys(name for model in of_arm for name in model.numbers):
            count = sum(quantity in model.numbers for model in of_arm)
            if count < len(of_arm):
                have = some_of(count, len(of_arm), "run", "has", "have")
                yield f"{arm}: only {have} the {quantity}, which is left out"


def by_arm(models: Sequence[Summary]) -> dict[str, list[Summary]]:
    """The models of each arm."""
    return {arm: [m for m in models if m.arm == arm] for arm in dict.fromkeys(m.arm for m in models)}


def _against_base(models: Sequence[Summary]) -> Iterator[Estimate]:
    """The differences of each arm's numbers from those of `BASE`, over the seeds that both have."""
    base = {model.seed: model.numbers for model in models if model.arm == BASE}
    for arm, of_arm in by_arm(models).items():
        pairs = [(model.numbers, base[model.seed]) for model in of_arm if model.seed in base]
        if arm == BASE or not pairs:
            continue
        for quantity, number in GAINED.items():
            if all(number in own and number in others for own, others in pairs):
                values = [own[number] - others[number] for own, others in pairs]
                yield over_seeds(quantity, values, arm=arm, against=BASE)
