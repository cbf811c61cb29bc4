"""Is a model as confident as it is right, and more confident in its right answers than in its wrong ones?

The confidence is the probability of the whole answer. Questions are independent draws, and the models are fixed.
So the intervals are for more questions, not for more seeds. Only `mean auroc` and `confidence minus accuracy` are
for more seeds.

Whether a model is too confident is asked of each group of persons apart. A mean over groups would depend on how
many persons each has. Numbers about several groups together say how many persons of which.
"""

import collections
from collections.abc import Sequence

import numpy as np

from attnlab_theory.labs.estimates import Estimate, Estimates, over_seeds, share
from attnlab_theory.labs.knowledge.answers import Answers, independent
from attnlab_theory.stats import Interval
from attnlab_theory.stats.comparisons import AUROC_BOUND, auroc, auroc_interval

QUANTITIES = (
    *("auroc", "mean auroc", "mean auroc of a group", "confidence minus accuracy"),
    *("accuracy at confidence", "accuracy of the surest", "share at confidence"),
)
"""All numbers of this file. Answers alone give them, so a finished run that is judged again has them anew."""


BINS = 8
"""Bins of `reliability`, where there are as many answers."""


def measured(answers: Answers, error_rate: float) -> Estimates:
    """All `QUANTITIES`, over seeds or of these models.

    Args:
        answers: of any arms, seeds and groups.
        error_rate: of each interval.
    """
    apart = independent(answers)
    bins = min(BINS, *map(len, _by_group(apart).values()))
    return Estimates(
        (
            *discrimination_over_seeds(answers, error_rate),
            *within_groups(answers, error_rate),
            *discrimination(apart, error_rate),
            *reliability(apart, error_rate, bins=bins),
            *abstention(apart, error_rate),
            *histogram(apart, error_rate),
        )
    )


def discrimination(answers: Answers, error_rate: float) -> Estimates:
    """`auroc` of each arm: the probability that a right answer has more confidence than a wrong one.

    An arm whose answers are all right, or all wrong, has none.
    """
    found = []
    for arm in answers.arms:
        chosen = answers.of(variant=arm)
        sure, right = chosen.log_probabilities, chosen.right
        if right.all() or not right.any():
            continue
        found.append(
            Estimate(
                quantity="auroc",
                setting={**_asked(chosen), "right": int(right.sum()), "wrong": int((~right).sum())},
                value=auroc(sure[right], sure[~right]),
                interval=auroc_interval(sure[right], sure[~right], error_rate),
                draws=len(chosen),
                bound=AUROC_BOUND,
                error_rate=error_rate,
            )
        )
    return Estimates(found)


def discrimination_over_seeds(answers: Answers, error_rate: float) -> Estimates:
    """`mean auroc` of each arm over all groups together, with a t interval for more seeds.

    A seed whose answers are all right, or all wrong, has no `auroc`.
    """
    found = []
    for arm in answers.arms:
        chosen = answers.of(variant=arm)
        runs = [chosen.of(seed=seed) for seed in chosen.seeds]
        found += _mean_auroc("mean auroc", runs, error_rate, **_asked(chosen))
    return Estimates(found)


def within_groups(answers: Answers, error_rate: float) -> Estimates:
    """`confidence minus accuracy` and `mean auroc of a group`, with t intervals for more seeds.

    The first is above 0 if a model is too confident. A seed whose answers are all right, or all wrong, has no
    `auroc`.
    """
    found = []
    for (arm, group), chosen in _by_group(answers).items():
        runs = [chosen.of(seed=seed) for seed in chosen.seeds]
        off = [float(np.mean(run.confidences) - np.mean(run.right)) for run in runs]
        told = {"variant": arm, "group": group}
        found.append(over_seeds("confidence minus accuracy", off, error_rate, within=Interval(-1.0, 1.0), **told))
        found += _mean_auroc("mean auroc of a group", runs, error_rate, **told)
    return Estimates(found)


def reliability(answers: Answers, error_rate: float, *, bins: int = BINS) -> Estimates:
    """`accuracy at confidence` of each arm and group, in bins of rising confidence.

    Bins hold equally many answers, up to one. Confidences crowd at the ends, where bins of equal width would say
    little. In a calibrated model, the accuracy of a bin is its mean `confidence`.

    Raises:
        ValueError: if there is no bin, or an arm has fewer answers about a group than bins.
    """
    found = []
    for (arm, group), chosen in _by_group(answers).items():
        if not 1 <= bins <= len(chosen):
            raise ValueError(f"{len(chosen)} answers of {arm} do not fill {bins} bins")
        sure, right = chosen.confidences, chosen.right
        for bin_ in np.array_split(np.argsort(sure, kind="stable"), bins):
            told = {"variant": arm, "group": group, "confidence": float(np.mean(sure[bin_]))}
            found.append(share("accuracy at confidence", right[bin_], error_rate, **told))
    return Estimates(found)


def abstention(answers: Answers, error_rate: float, *, levels: int = 20) -> Estimates:
    """`accuracy of the surest` of each arm, if the model answers only above a confidence.

    `coverage` is the share of questions that it then answers, in steps of 1 / levels. Answers of equal confidence
    go together, so a level may cover more.

    Raises:
        ValueError: if there is no level.
    """
    if levels < 1:
        raise ValueError(f"levels must be at least 1, not {levels}")
    found = []
    for arm in answers.arms:
        chosen = answers.of(variant=arm)
        sure, right = chosen.log_probabilities, chosen.right
        ranks = -(-np.arange(1, levels + 1) * len(sure) // levels)
        for threshold in np.unique(np.sort(sure)[::-1][ranks - 1])[::-1]:
            kept = sure >= threshold
            found.append(
                share(
                    "accuracy of the surest",
                    right[kept],
                    error_rate,
                    **_asked(chosen),
                    coverage=float(np.mean(kept)),
                    threshold=float(threshold),
                )
            )
    return Estimates(found)


def histogram(answers: Answers, error_rate: float, *, bins: int = 10) -> Estimates:
    """`share at confidence` of each arm, for right and for wrong answers, in equal bins from `low` to `high`."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    found = []
    for arm in answers.arms:
        chosen = answers.of(variant=arm)
        number = np.clip(np.searchsorted(edges, chosen.confidences, side="right") - 1, 0, bins - 1)
        for right in (True, False):
            of_kind = number[chosen.right == right]
            for bin_ in range(bins if of_kind.size else 0):
                ends = {"low": float(edges[bin_]), "high": float(edges[bin_ + 1])}
                setting = {**_asked(chosen), "right": right, **ends}
                found.append(share("share at confidence", of_kind == bin_, error_rate, **setting))
    return Estimates(found)


def sure_of_right(answers: Answers) -> float:
    """The median log-probability of right answers. An answer above it counts as confident.

    Raises:
        ValueError: if no answer is right.
    """
    if not answers.right.any():
        raise ValueError("no answer is right, so there is no confidence of right answers")
    return float(np.median(answers.log_probabilities[answers.right]))


def _by_group(answers: Answers) -> dict[tuple[str, str], Answers]:
    """The answers by arm and group."""
    keys = dict.fromkeys((answer.variant, answer.group) for answer in answers)
    return {(arm, group): answers.of(group, variant=arm) for arm, group in keys}


def _mean_auroc(quantity: str, runs: Sequence[Answers], error_rate: float, **told: str) -> Estimates:
    sure = [(run.log_probabilities, run.right) for run in runs]
    values = [auroc(each[right], each[~right]) for each, right in sure if right.any() and not right.all()]
    within = Interval(0.0, 1.0)
    return Estimates([over_seeds(quantity, values, error_rate, within=within, **told)] if values else [])


def _asked(answers: Answers) -> dict[str, str]:
    """The setting of estimates: the arm, and how many persons of which group are in the questions."""
    groups = collections.Counter(answer.group for answer in answers)
    return {
        "variant": answers[0].variant,
        "groups": " and ".join(f"{count:,} {group}" for group, count in groups.items()),
    }
