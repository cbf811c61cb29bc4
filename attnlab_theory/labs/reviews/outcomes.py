"""What came of the trials of a random search, every one of them trained to its end.

No trial is stopped early: what a search is worth is asked of trials that all have a test accuracy.
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


def outcomes(lab: Reviews) -> tuple[Outcome, ...]:
    """What came of each trial of a lab; all must be trained.

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
    """Of the trials that did not diverge the best on validation; of equal ones the first."""
    return max((outcome for outcome in found if outcome.diverged is None), key=lambda o: o.validation)


def worth(found: Sequence[Outcome], error_rate: float) -> Estimates:
    """What a search is worth: `optimism.curves` of its trials, none for fewer than four.

    Trials that diverged are left out: the curves are those of searches among the others.
    """
    left = [(outcome.validation, outcome.test) for outcome in found if outcome.diverged is None]
    if len(left) < optimism.LEAST:
        return Estimates()
    validation, test = np.array(left, float).T
    return optimism.curves(validation, test, error_rate)


def epochs_trained(found: Sequence[Outcome]) -> int:
    """What was spent of the budget."""
    return sum(len(outcome.curve) for outcome in found)
