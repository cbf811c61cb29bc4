"""A random search over training runs, every one of them to its end.

No trial is stopped early: what a search is worth is asked of trials that all have a test accuracy.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.reviews import searched
from attnlab_theory.labs.reviews.answered import accuracy
from attnlab_theory.labs.reviews.diverging import Ended, noted
from attnlab_theory.labs.reviews.lab import Curve, Lab, Stage, curve_of, trial_stage
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.labs.reviews.trials import Trial
from attnlab_theory.language.checkpoint import load_model


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a trial."""

    trial: Trial
    curve: Curve
    """After every epoch; empty if training diverged."""
    test: float | None
    """Accuracy on test; None for a trial that diverged."""
    diverged: str | None = None
    """How training diverged, if it did."""

    @property
    def validation(self) -> float:
        """Accuracy after the last epoch."""
        return self.curve[-1]["validation accuracy"]

    def as_json(self) -> dict[str, Any]:
        """All in one level."""
        told = {"validation": self.validation if self.curve else None, "test": self.test, "diverged": self.diverged}
        return {**dataclasses.asdict(self.trial), "epochs_trained": len(self.curve), **told}


Train = Callable[[Sequence[Stage]], Iterable[Ended]]
"""Trains trials to their end, in order, and says how each ended; the last may be STOPPED."""


def search(lab: Lab, trials: Sequence[Trial], seed: int, train: Train) -> tuple[Outcome, ...] | None:
    """Train the trials, and ask each about the test.

    Args:
        lab: whose material and models are searched with.
        trials: in their order.
        seed: of material, first weights and dropout.
        train: as `diverging.trained` does.

    Returns:
        What came of each trial; None if training was stopped by hand.

    Raises:
        ValueError: if every trial diverges.
    """
    stages = [trial_stage(lab, trial, seed) for trial in trials]
    ended = tuple(train(stages))
    if Ended.STOPPED in ended:
        return None
    if all(end is Ended.DIVERGED for end in ended):
        raise ValueError(f"all {len(trials)} trials diverged: search lower rates")
    material = lab.material(seed)
    asked = encoded(material.test, material.text, lab.start(material).config.encoder.block)

    def outcome(trial: Trial, stage: Stage) -> Outcome:
        if (said := noted(stage.path)) is not None:
            return Outcome(trial=trial, curve=(), test=None, diverged=said)
        saved = load_model(stage.path)
        return Outcome(trial=trial, curve=curve_of(saved), test=accuracy(saved.model, asked))

    return tuple(map(outcome, trials, stages))


def winner(found: Sequence[Outcome]) -> Outcome:
    """Of the trials that did not diverge the best on validation; of equal ones the first."""
    return max((outcome for outcome in found if outcome.diverged is None), key=lambda o: o.validation)


def worth(found: Sequence[Outcome], error_rate: float) -> Estimates:
    """What a search is worth: `searched.curves` of its trials, none for fewer than four.

    Trials that diverged are left out: the curves are those of searches among the others.
    """
    left = [(outcome.validation, outcome.test) for outcome in found if outcome.diverged is None]
    if len(left) < searched.LEAST:
        return Estimates()
    validation, test = np.array(left, float).T
    return searched.curves(validation, test, error_rate)


def epochs_trained(found: Sequence[Outcome]) -> int:
    """What was spent of the budget."""
    return sum(len(outcome.curve) for outcome in found)
