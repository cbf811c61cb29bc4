"""One pass over the sentences: the fitting half first, then the judging half, group by group."""

import dataclasses
from collections.abc import Callable

import numpy as np

from attnlab_theory.labs.heads.calibration import Calibration
from attnlab_theory.labs.heads.fitting import Fit, Moments, fitted
from attnlab_theory.labs.heads.habits import Habits
from attnlab_theory.labs.heads.normality import Normality
from attnlab_theory.labs.heads.own_means import OwnMeans
from attnlab_theory.labs.heads.plan import Plan
from attnlab_theory.labs.heads.splits import Splits
from attnlab_theory.labs.heads.stretch import Stretch
from attnlab_theory.labs.heads.traces import Reading, softmax
from attnlab_theory.plurals import several


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """Sums by group of sentences, and the few rows that are kept."""

    plan: Plan
    fit: Fit
    habits: Habits
    stretch: Stretch
    own_means: OwnMeans
    normality: Normality
    splits: Splits
    calibration: Calibration


def measured(
    reading: Reading,
    plan: Plan,
    *,
    calibrated: int = 200,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Read every sentence once.

    Args:
        reading: the model with its text.
        plan: which sentences fit and which judge.
        calibrated: how many sentences of the judging half have their weights predicted by theory; 0 for none.
        seed: of the queries that are chosen.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a trace is broken, or too few types have keys that differ.
    """
    tell(f"keys of {several(len(plan.fitting), 'sentence')}")
    fit = fitted(reading.traces(plan.fitting), plan, seed=seed)
    plan, (layers, h) = fit.plan, fit.means.shape[:2]
    found = Measured(
        plan=plan,
        fit=fit,
        habits=Habits(layers, h, plan.groups),
        stretch=Stretch(fit, plan.groups),
        own_means=OwnMeans(fit, plan.groups),
        normality=Normality(fit),
        splits=Splits(fit, plan),
        calibration=Calibration(fit, plan, seed=seed),
    )
    predicted = set(plan.judging[:calibrated])
    dealt = [plan.judging[group :: plan.groups] for group in range(plan.groups)]
    traces = reading.traces([number for numbers in dealt for number in numbers])
    for group, numbers in enumerate(dealt):
        tell(f"measuring {several(len(plan.judging), 'other sentence')}: group {group + 1} of {plan.groups}")
        moments = Moments(*fit.means.shape)
        for number, trace in zip(numbers, traces, strict=False):
            scores = trace.scores()
            weights = softmax(scores)
            found.habits.add(trace, scores, weights, group)
            found.splits.add(trace, scores, number, group)
            kinds = plan.kinds(trace.tokens)
            known = np.flatnonzero(kinds >= 0)
            keys = trace.k[:, :, known].astype(np.float64)
            moments.add(keys - fit.means[:, :, kinds[known]], kinds[known])
            if len(known):
                found.normality.add(keys, kinds[known])
            if number in predicted:
                found.calibration.add(trace, scores, weights, group)
        found.stretch.add(group, moments)
        found.own_means.add(group, moments)
    return found
