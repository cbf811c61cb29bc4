"""How often the answers are right: by variant, over seeds, beside the published; and what wrong ones look like."""

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.estimates import Estimate, Estimates, mean, share
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answers, in_pairs, independent
from attnlab_theory.stats import Interval, paired, student
from attnlab_theory.stats.comparisons import discordant_odds, mcnemar


@dataclasses.dataclass(frozen=True)
class Published:
    """Accuracies on the homework's development set that others reached."""

    median: float
    lowest: float
    highest: float
    models: int
    told: bool = False
    """Whether the highest stands in a README only, without its answers."""


PUBLISHED = {
    UNTRAINED: Published(0.014, 0.000, 0.028, 32),
    "vanilla": Published(0.211, 0.124, 0.272, 28),
    "rope": Published(0.293, 0.122, 0.404, 6, told=True),
    "synthesizer": Published(0.102, 0.038, 0.262, 15),
}
"""By variant: median and range on birth_dev.tsv, 500 questions.

Source: the `.predictions` files of 75 public repositories of Stanford's CS224n (assignment 5 of 2021 to 2023,
assignment 4 from 2024), counted anew on 2026-11-21, and one that is told; others that
are only told are left out.
"""

OVER_SEEDS = student("accuracies of training runs that differ in the seed")


def by_seed(answers: Answers, error_rate: float) -> Estimates:
    """`accuracy` of each variant, group and seed: where it would lie on more such questions."""
    return Estimates(
        share("accuracy", chosen.right, error_rate, variant=variant, group=group, seed=seed)
        for variant, group, seed, chosen in _runs(answers)
    )


def over_seeds(answers: Answers, error_rate: float) -> Estimates:
    """`mean accuracy` of each variant and group: where it would lie over more seeds, by a t interval.

    One seed, or seeds of equal accuracy, say nothing of the others; their interval is all of [0, 1].
    """
    accuracies: dict[tuple[str, str], list[float]] = {}
    for variant, group, _, chosen in _runs(answers):
        accuracies.setdefault((variant, group), []).append(float(np.mean(chosen.right)))
    means = [
        mean("mean accuracy", np.array(row), OVER_SEEDS, error_rate, variant=variant, group=group)
        for (variant, group), row in accuracies.items()
    ]
    return Estimates(dataclasses.replace(e, interval=_within(e.interval, 0.0, 1.0)) for e in means)


def pooled(answers: Answers, error_rate: float) -> Estimates:
    """`pooled accuracy` of each variant and group: all these answers together, for these very models."""
    groups = dict.fromkeys((variant, group) for variant, group, _, _ in _runs(answers))
    return Estimates(
        share("pooled accuracy", answers.of(group, variant=variant).right, error_rate, variant=variant, group=group)
        for variant, group in groups
    )


def majority(answers: Answers) -> float:
    """The accuracy of the commonest place as the answer to all questions; the mean over seeds."""
    shares = []
    for seed in answers.seeds:
        places = [answer.gold for answer in answers.of(seed=seed)]
        shares.append(max(map(places.count, set(places))) / len(places))
    return float(np.mean(shares))


def compared(answers: Answers, first: str, second: str, group: str, error_rate: float) -> Estimates:
    """Two variants on the same questions, and what the second gained over the first.

    `accuracy gained` is for these models and more questions, `mean accuracy gained` for more seeds (a t interval);
    all but the latter are of `independent` answers.
    `mcnemar p` is that both are right equally often; `discordant odds`, how many questions only the second gets
    right for each that only the first does, is missing where there is no such question.

    Raises:
        ValueError: as `in_pairs`.
    """
    pair = in_pairs(answers, first, second, group)
    one, other = (independent(chosen).right for chosen in pair)
    by_seed = np.array([_gain(*(chosen.of(seed=seed) for chosen in pair)) for seed in pair[0].seeds])
    setting = {"first": first, "second": second, "group": group}
    over = mean("mean accuracy gained", by_seed, OVER_SEEDS, error_rate, **setting)
    over = dataclasses.replace(over, interval=_within(over.interval, -1.0, 1.0))
    return Estimates((over, *gained(one, other, error_rate, **setting)))


def gained(
    one: Bool[np.ndarray, "questions"], other: Bool[np.ndarray, "questions"], error_rate: float, **setting: Any
) -> Estimates:
    """`accuracy gained`, `mcnemar p` and, if there is one, `discordant odds`, as in `compared`.

    Args:
        one, other: which answers of the first and of the second are right.
        error_rate: of each interval.
        setting: of the estimates.
    """
    p = mcnemar(one, other)
    only_first, only_second = int(np.sum(one & ~other)), int(np.sum(other & ~one))
    found = [
        mean("accuracy gained", other.astype(float) - one, paired(), error_rate, **setting),
        Estimate(
            quantity="mcnemar p",
            setting={**setting, "only_first": only_first, "only_second": only_second},
            value=p,
            interval=Interval.point(p),
            draws=1,
            bound="exact: the p-value is computed, by the binomial law of the discordant pairs (McNemar)",
            error_rate=0.0,
        ),
    ]
    if only_first:
        found.append(
            Estimate(
                quantity="discordant odds",
                setting=setting,
                value=only_second / only_first,
                interval=discordant_odds(one, other, error_rate),
                draws=only_first + only_second,
                bound="discordant odds: pairs are independent (Clopper-Pearson, given how many are discordant)",
                error_rate=error_rate,
            )
        )
    return Estimates(found)


def wrong_but_places(answers: Answers, places: Collection[str], error_rate: float) -> Estimates:
    """`wrong answers that are places` of each variant and group: well-formed, known, and not this person's.

    A group that has no wrong answer has no such share.

    Args:
        answers: of any models.
        places: those that exist.
        error_rate: of each interval.
    """
    known = frozenset(places)
    wrong: dict[tuple[str, str], list[bool]] = {}
    for answer in answers:
        if not answer.is_right:
            wrong.setdefault((answer.variant, answer.group), []).append(answer.predicted in known)
    return Estimates(
        share("wrong answers that are places", np.array(row), error_rate, variant=variant, group=group)
        for (variant, group), row in wrong.items()
    )


def _gain(one: Answers, other: Answers) -> float:
    return float(np.mean(other.right) - np.mean(one.right))


def _within(interval: Interval, low: float, high: float) -> Interval:
    """The part of the interval that lies where such a number can."""
    return Interval(max(low, interval.low), min(high, interval.high))


def _runs(answers: Answers) -> list[tuple[str, str, int, Answers]]:
    """The answers by variant, group and seed."""
    runs = dict.fromkeys((answer.variant, answer.group, answer.seed) for answer in answers)
    return [(v, g, s, answers.of(g, variant=v, seed=s)) for v, g, s in runs]
