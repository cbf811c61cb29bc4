"""What is asked of every trained model of a run, once, before anything is judged."""

import dataclasses

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.reviews import modes
from attnlab_theory.labs.reviews.answered import Probabilities, probabilities, right
from attnlab_theory.labs.reviews.lab import Curve, Lab, curve_of
from attnlab_theory.labs.reviews.material import Material, encoded
from attnlab_theory.labs.reviews.variants import Variant


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """One trained model."""

    variant: Variant
    seed: int
    curve: Curve
    test: Probabilities
    """Of label 1, for every test review."""
    hits: Bool[np.ndarray, " reviews"]
    """Which test reviews it labels right."""
    lost_to_dropout: float
    """Accuracy on validation in evaluation mode less that in training mode."""
    moved_by_dropout: float
    """How far dropout alone moves the probability of a label, on average."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bayes:
    """The rule that follows the exact posterior, on the same test reviews."""

    seed: int
    posterior: Probabilities
    hits: Bool[np.ndarray, " reviews"]


def ask(lab: Lab, variant: Variant, seed: int) -> Asked:
    """What a model of the lab says of its reviews.

    Raises:
        ValueError: if the model is missing.
    """
    saved, material = lab.saved(variant, seed), lab.material(seed)
    block = saved.model.config.encoder.block
    test, validation = (encoded(each, saved.text, block) for each in (material.test, material.validation))
    found = probabilities(saved.model, test.rows)
    return Asked(
        variant=variant,
        seed=seed,
        curve=curve_of(saved),
        test=found,
        hits=right(found, material.test.targets),
        lost_to_dropout=modes.accuracy_lost_to_dropout(saved.model, validation, seed),
        moved_by_dropout=modes.moved_by_dropout(saved.model, validation, seed),
    )


def bayes(material: Material, seed: int) -> Bayes | None:
    """The same of the rule that nobody beats; None where the language is not known."""
    if material.grammar is None:
        return None
    posterior = np.array([material.grammar.posterior(text.split()) for text in material.test.texts])
    return Bayes(seed=seed, posterior=posterior, hits=right(posterior, material.test.targets))
