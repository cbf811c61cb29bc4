"""A random search over training runs: every trial to its end, or by successive halving."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.reviews import searched
from attnlab_theory.labs.reviews.answered import accuracy
from attnlab_theory.labs.reviews.diverging import Ended, noted
from attnlab_theory.labs.reviews.lab import Curve, Lab, Stage, curve_of, trial_stage
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.labs.reviews.trials import Halving, Trial, best
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.runs import partial_path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a trial."""

    trial: Trial
    curve: Curve
    """After every epoch that was trained; empty if training diverged."""
    test: float | None
    """Accuracy on test; None for a trial that diverged or that halving has stopped, of which nobody asks it."""
    diverged: str | None = None
    """How training diverged, if it did."""

    @property
    def validation(self) -> float:
        """Accuracy after the last epoch that was trained."""
        return self.curve[-1]["validation accuracy"]

    def as_json(self) -> dict[str, Any]:
        """All in one level."""
        told = {"validation": self.validation if self.curve else None, "test": self.test, "diverged": self.diverged}
        return {**dataclasses.asdict(self.trial), "epochs_trained": len(self.curve), **told}


class Leg(NamedTuple):
    """What a rung asks of a trial."""

    stage: Stage
    until: int
    """The step behind which the trial is left, or its last one."""


Train = Callable[[Sequence[Leg]], Sequence[Ended]]
"""Trains every trial as far as is asked, in any order or at once, and says how each ended."""


def search(
    lab: Lab, trials: Sequence[Trial], seed: int, train: Train, halving: Halving
) -> tuple[Outcome, ...] | None:
    """Train the trials, and ask those that come to their end.

    Args:
        lab: whose material and models are searched with.
        trials: in their order.
        seed: of material, first weights and dropout.
        train: each as `labs.training.train` does, with resume, for a rung goes on where the one before ended.
        halving: which trials are trained to their end; one rung: all.

    Returns:
        What came of each trial; None if training was stopped by hand.

    Raises:
        ValueError: if every trial that is left diverges.
    """
    alive = list(range(len(trials)))
    stages = [trial_stage(lab, trial, seed) for trial in trials]
    for rung in range(halving.rungs):
        if rung:
            scores = [_curve(stages[place])[-1]["validation accuracy"] for place in alive]
            alive = [alive[place] for place in best(scores, halving.kept(len(trials), rung))]
        legs = [Leg(stages[place], _until(stages[place], trials[place], halving, rung)) for place in alive]
        ended = dict(zip(alive, train(legs), strict=True))
        if Ended.STOPPED in ended.values():
            return None
        alive = [place for place in alive if ended[place] is not Ended.DIVERGED]
        if not alive:
            raise ValueError(f"all {len(trials)} trials diverged or were stopped before: search lower rates")
    material = lab.material(seed)
    asked = encoded(material.test, material.text, lab.start(material).config.encoder.block)

    def outcome(place: int, stage: Stage) -> Outcome:
        if (said := noted(stage.path)) is not None:
            return Outcome(trial=trials[place], curve=(), test=None, diverged=said)
        ended = place in alive
        test = accuracy(load_model(stage.path).model, asked) if ended else None
        return Outcome(trial=trials[place], curve=_curve(stage), test=test)

    return tuple(outcome(place, stage) for place, stage in enumerate(stages))


def _until(stage: Stage, trial: Trial, halving: Halving, rung: int) -> int:
    """The step at which a rung compares a trial."""
    return stage.run.steps // trial.epochs * halving.reached(trial.epochs, rung)


def winner(found: Sequence[Outcome]) -> Outcome:
    """Of the trials that came to their end the best on validation; of equal ones the first."""
    ended = [outcome for outcome in found if outcome.test is not None]
    return ended[best([outcome.validation for outcome in ended], 1)[0]]


def worth(found: Sequence[Outcome], error_rate: float) -> Estimates:
    """What a search is worth: `searched.curves` of trials that all came to their end, none for fewer than four.

    Trials that diverged are left out: the curves are those of searches among the others.
    """
    left = [outcome for outcome in found if outcome.diverged is None]
    ended = [(outcome.validation, outcome.test) for outcome in left if outcome.test is not None]
    if len(ended) < len(left) or len(ended) < searched.LEAST:
        return Estimates()
    validation, test = np.array(ended, float).T
    return searched.curves(validation, test, error_rate)


def _curve(stage: Stage) -> Curve:
    """Of a trial, finished or not."""
    return curve_of(load_model(stage.path if stage.path.exists() else partial_path(stage.path)))


def epochs_trained(found: Sequence[Outcome]) -> int:
    """What was spent of the budget."""
    return sum(len(outcome.curve) for outcome in found)
