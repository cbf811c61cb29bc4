"""The accuracy of every arm, the gain of one over another, and Bayes's rule where it is known."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_seeds, share
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE
from attnlab_theory.labs.reviews import modes
from attnlab_theory.labs.reviews.answers import Probabilities, probabilities, right
from attnlab_theory.labs.reviews.arms import BASE, BEST, SHARED, Arm
from attnlab_theory.labs.reviews.claims import COMMONER
from attnlab_theory.labs.reviews.lab import Curve, Part, Reviews, curve_of
from attnlab_theory.labs.reviews.material import Material, encoded
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.stats import Interval, bounded, paired

SIGNED, SHARES = Interval(-1.0, 1.0), Interval(0.0, 1.0)

OFF = bounded(0.0, 1.0)
"""The distance of a probability from the posterior."""

AGAINST = {best: (BASE, BEST["adamw"], SHARED[name]) for name, best in BEST.items()}
"""The parts with which an optimizer at its chosen rate is compared. All other parts are compared with the base."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of one trained model about the reviews of its seed."""

    arm: Arm
    seed: int
    curve: Curve
    test: Probabilities
    """The probability of label 1, for every test review."""
    hits: Bool[np.ndarray, " reviews"]
    """Which test reviews it labels right."""
    majority: float
    """The accuracy of always giving the commoner label of the test."""
    lost_to_dropout: float
    """The accuracy on validation in evaluation mode, minus that in training mode."""
    moved_by_dropout: float
    """The mean movement of the probability of a label by dropout alone."""

    @property
    def accuracy(self) -> float:
        """The accuracy on the test."""
        return float(np.mean(self.hits))

    @property
    def gap(self) -> float:
        """The training accuracy minus the validation accuracy, after the last epoch."""
        return self.curve[-1]["training accuracy"] - self.curve[-1]["validation accuracy"]

    @property
    def earlier(self) -> float:
        """Epochs from the best one of training to the best one of validation. Negative if the latter is earlier."""
        validation, training = (
            max(range(len(self.curve)), key=lambda epoch: self.curve[epoch][f"{which} accuracy"])
            for which in ("validation", "training")
        )
        return float(validation - training)


NUMBERS: dict[str, tuple[Callable[[Answers], float], Interval]] = {
    "accuracy over seeds": (lambda each: each.accuracy, SHARES),
    COMMONER: (lambda each: each.accuracy - each.majority, SIGNED),
    "training less validation accuracy": (lambda each: each.gap, SIGNED),
    "best epoch of validation less of training": (lambda each: each.earlier, Interval(-math.inf, math.inf)),
    "accuracy lost to dropout": (lambda each: each.lost_to_dropout, SIGNED),
    "moved by dropout": (lambda each: each.moved_by_dropout, SHARES),
}
"""The quantities of every part, with their ranges."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bayes:
    """The rule that follows the exact posterior, on the same test reviews."""

    seed: int
    posterior: Probabilities
    hits: Bool[np.ndarray, " reviews"]


def answers(lab: Reviews, arm: Arm, seed: int) -> Answers:
    """The answers of a model of the lab about its reviews.

    Raises:
        ValueError: if the model is missing.
    """
    saved, material = lab.saved(arm, seed), lab.material(seed)
    block = saved.model.config.encoder.block
    test, validation = (encoded(each, saved.text, block) for each in (material.test, material.validation))
    found = probabilities(saved.model, test.rows)
    return Answers(
        arm=arm,
        seed=seed,
        curve=curve_of(saved),
        test=found,
        hits=right(found, material.test.targets),
        majority=material.test.majority,
        lost_to_dropout=modes.accuracy_lost_to_dropout(saved.model, validation, seed),
        moved_by_dropout=modes.moved_by_dropout(saved.model, validation, seed),
    )


def bayes(material: Material, seed: int) -> Bayes | None:
    """The answers of Bayes's rule, which no model beats. None if the language is not known."""
    if material.grammar is None:
        return None
    posterior = np.array([material.grammar.posterior(text.split()) for text in material.test.texts])
    return Bayes(seed=seed, posterior=posterior, hits=right(posterior, material.test.targets))


def of_parts(found: Sequence[Answers], parts: Sequence[Part]) -> Estimates:
    """The accuracy of every part, and its gain over others, seed by seed.

    Args:
        found: of every arm and seed.
        parts: from `lab.Reviews.parts`.
    """
    estimates = [
        share("test accuracy", each.hits.astype(float), ERROR_RATE, variant=each.arm.name, seed=each.seed)
        for each in found
    ]
    by_part = {name: [each for each in found if each.arm == arm] for name, arm in parts}
    for part, models in by_part.items():
        for quantity, (number, within) in NUMBERS.items():
            values, variant = [*map(number, models)], models[0].arm.name
            estimates.append(over_seeds(quantity, values, within=within, part=part, variant=variant))
    return Estimates((*estimates, *_gains(by_part)))


def _gains(by_part: dict[str, list[Answers]]) -> Iterator[Estimate]:
    """The gain of a part over another with the same seeds. None if both are one model."""
    for part, models in by_part.items():
        for against in AGAINST.get(part, (BASE,)):
            others = by_part.get(against)
            if part != BASE and others is not None and models[0].arm != others[0].arm:
                values = [one.accuracy - other.accuracy for one, other in zip(models, others, strict=True)]
                yield over_seeds("accuracy gained", values, within=SIGNED, part=part, against=against)


def against_bayes(found: Sequence[Answers], rules: Sequence[Bayes], base: Arm) -> Estimates:
    """The base model of every seed against Bayes's rule on the same reviews, and the rule's own accuracy."""
    estimates = []
    for rule in rules:
        (model,) = (each for each in found if (each.arm, each.seed) == (base, rule.seed))
        seed, hits = rule.seed, model.hits.astype(float)
        estimates += [
            share("accuracy of Bayes's rule", rule.hits.astype(float), FLOOR_ERROR_RATE, seed=seed),
            mean("accuracy above Bayes's rule", hits - rule.hits, paired(), FLOOR_ERROR_RATE, seed=seed),
            share("accuracy where order counts", hits, FLOOR_ERROR_RATE, seed=seed),
            mean("distance from the posterior", np.abs(model.test - rule.posterior), OFF, ERROR_RATE, seed=seed),
        ]
    return Estimates(estimates)
