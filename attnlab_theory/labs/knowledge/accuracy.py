"""The accuracy of answers by arm, over seeds and pooled, and what wrong answers look like."""

from collections.abc import Collection

import numpy as np

from attnlab_theory.labs import estimates
from attnlab_theory.labs.comparisons import gained
from attnlab_theory.labs.estimates import Estimates, known, share
from attnlab_theory.labs.knowledge.answers import Answers, in_pairs, independent
from attnlab_theory.labs.knowledge.claims import COMMONEST
from attnlab_theory.stats import Interval

OF_ONE = "draws are answers of one model"


def by_seed(answers: Answers, error_rate: float) -> Estimates:
    """`accuracy` of each arm, group and seed. The interval is for more such questions."""
    return Estimates(
        share("accuracy", chosen.right, error_rate, of=OF_ONE, variant=arm, group=group, seed=seed)
        for arm, group, seed, chosen in _runs(answers)
    )


def over_seeds(answers: Answers, error_rate: float) -> Estimates:
    """`mean accuracy` of each arm and group, with a t interval for more seeds.

    One seed, or seeds of equal accuracy, say nothing about other seeds. Their interval is all of [0, 1].
    """
    accuracies: dict[tuple[str, str], list[float]] = {}
    for arm, group, _, chosen in _runs(answers):
        accuracies.setdefault((arm, group), []).append(float(np.mean(chosen.right)))
    shares = Interval(0.0, 1.0)
    return Estimates(
        estimates.over_seeds("mean accuracy", row, error_rate, within=shares, variant=arm, group=group)
        for (arm, group), row in accuracies.items()
    )


def pooled(answers: Answers, error_rate: float) -> Estimates:
    """`pooled accuracy` of each arm and group: all answers together, for these models alone.

    It says nothing about models with other seeds, and no verdict rests on it.
    """
    groups = dict.fromkeys((arm, group) for arm, group, _, _ in _runs(answers))
    found = []
    for arm, group in groups:
        chosen = answers.of(group, variant=arm)
        told = {"variant": arm, "group": group}
        found.append(share("pooled accuracy", chosen.right, error_rate, of=of_models(len(chosen.seeds)), **told))
    return Estimates(found)


def of_models(count: int) -> str:
    """The words for draws that are answers of several models."""
    return OF_ONE if count == 1 else f"draws are answers of {count} models, which alone are meant"


def commonest(answers: Answers) -> Estimates:
    """`share of the commonest place` of each arm and group: the accuracy of one answer to all questions.

    Over several seeds it is the mean, each with its own commonest place.
    """
    shares: dict[tuple[str, str], list[float]] = {}
    for arm, group, _, chosen in _runs(answers):
        places = [answer.gold for answer in chosen]
        shares.setdefault((arm, group), []).append(max(map(places.count, set(places))) / len(places))
    found = []
    for (arm, group), row in shares.items():
        draws, told = len(answers.of(group, variant=arm)), "counted: the places of these very questions"
        found.append(known(COMMONEST, float(np.mean(row)), draws, told, variant=arm, group=group))
    return Estimates(found)


def compared(answers: Answers, first: str, second: str, group: str, error_rate: float) -> Estimates:
    """Compare two arms on the same questions.

    `mean accuracy gained` has a t interval for more seeds. The other numbers use `independent` answers, and no
    verdict rests on them. `accuracy gained` is for these models and more questions. `mcnemar p` tests whether both
    are right equally often. `discordant odds` is the number of questions that only the second gets right, divided
    by that of questions that only the first gets right. It is missing if there is no such question.

    Raises:
        ValueError: if one has no answers, or they answered different questions.
    """
    pair = in_pairs(answers, first, second, group)
    one, other = (independent(chosen).right for chosen in pair)
    by_seed = [_gain(*(chosen.of(seed=seed) for chosen in pair)) for seed in pair[0].seeds]
    setting = {"first": first, "second": second, "group": group}
    gains = Interval(-1.0, 1.0)
    over = estimates.over_seeds("mean accuracy gained", by_seed, error_rate, within=gains, **setting)
    return Estimates((over, *gained(one, other, error_rate, **setting)))


def wrong_but_places(answers: Answers, places: Collection[str], error_rate: float) -> Estimates:
    """`wrong answers that are places` of each arm and group: the share of wrong answers that are another place.

    A group without a wrong answer has no such share.

    Args:
        answers: of any models.
        places: all places that exist.
        error_rate: of each interval.
    """
    known = frozenset(places)
    wrong: dict[tuple[str, str], list[bool]] = {}
    for answer in answers:
        if not answer.is_right:
            wrong.setdefault((answer.variant, answer.group), []).append(answer.predicted in known)
    return Estimates(
        share("wrong answers that are places", np.array(row), error_rate, variant=arm, group=group)
        for (arm, group), row in wrong.items()
    )


def _gain(one: Answers, other: Answers) -> float:
    return float(np.mean(other.right) - np.mean(one.right))


def _runs(answers: Answers) -> list[tuple[str, str, int, Answers]]:
    """The answers by arm, group and seed."""
    runs = dict.fromkeys((answer.variant, answer.group, answer.seed) for answer in answers)
    return [(v, g, s, answers.of(g, variant=v, seed=s)) for v, g, s in runs]
