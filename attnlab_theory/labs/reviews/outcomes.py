"""The outcomes of the trials of a random search. Every trial is trained to its end.

No trial is stopped early, because the worth of a search needs the test accuracy of every trial.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.reviews import optimism
from attnlab_theory.labs.reviews.answers import accuracy
from attnlab_theory.labs.reviews.divergence import noted
from attnlab_theory.labs.reviews.lab import Curve, Reviews, curve_of
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.labs.reviews.trials import Trial


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a trial."""

    trial: Trial
    curve: Curve
    """The accuracies after every epoch. Empty if training diverged."""
    test: float | None
    """The accuracy on the test. None if training diverged."""
    diverged: str | None = None
    """How training diverged, if it did."""

    @property
    def validation(self) -> float:
        """The validation accuracy after the last epoch."""
        return self.curve[-1]["validation accuracy"]

    def as_json(self) -> dict[str, Any]:
        """All in one level."""
        told = {"validation": self.validation if self.curve else None, "test": self.test, "diverged": self.diverged}
        return {**dataclasses.asdict(self.trial), "epochs_trained": len(self.curve), **told}


def outcomes(lab: Reviews) -> tuple[Outcome, ...]:
    """The outcome of each trial of a lab. All must be trained.

    Raises:
        ValueError: if a model is missing, or every trial diverged.
    """
    if not lab.trials:
        return ()
    seed = lab.seeds[0]
    material = lab.material(seed)
    asked = encoded(material.test, material.text, lab.start(material).config.encoder.block)

    def outcome(trial: Trial) -> Outcome:
        if (said := noted(lab.path(trial, seed))) is not None:
            return Outcome(trial=trial, curve=(), test=None, diverged=said)
        saved = lab.saved(trial, seed)
        return Outcome(trial=trial, curve=curve_of(saved), test=accuracy(saved.model, asked))

    found = tuple(map(outcome, lab.trials))
    if all(each.diverged is not None for each in found):
        raise ValueError(f"all {len(found)} trials diverged: search lower rates")
    return found


def winner(found: Sequence[Outcome]) -> Outcome:
    """The trial with the best validation accuracy, of those that did not diverge. Of equal ones the first."""
    return max((outcome for outcome in found if outcome.diverged is None), key=lambda o: o.validation)


def worth(found: Sequence[Outcome], error_rate: float) -> Estimates:
    """The worth of a search: `optimism.curves` of its trials. None for fewer than four trials.

    Trials that diverged are left out. So the curves are those of searches among the others.
    """
    left = [(outcome.validation, outcome.test) for outcome in found if outcome.diverged is None]
    if len(left) < optimism.LEAST:
        return Estimates()
    validation, test = np.array(left, float).T
    return optimism.curves(validation, test, error_rate)


def epochs_trained(found: Sequence[Outcome]) -> int:
    """The epochs of the budget that were spent."""
    return sum(len(outcome.curve) for outcome in found)
