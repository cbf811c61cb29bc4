"""Which answers are right, how much better one model answers than another, and whether that is chance."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab_theory.labs.estimates import Estimate, Estimates, known, mean
from attnlab_theory.stats import paired
from attnlab_theory.stats.comparisons import discordant_odds, mcnemar


def gained(
    one: Bool[np.ndarray, " questions"], other: Bool[np.ndarray, " questions"], error_rate: float, **setting: Any
) -> Estimates:
    """`accuracy gained`, `mcnemar p` and, if there is one, `discordant odds`.

    `accuracy gained` is about these models alone, and about more such questions. `mcnemar p` tests whether both are
    right equally often. `discordant odds` is the number of questions that only the second gets right, divided by
    that of questions that only the first gets right. It is missing if there is no such question.

    Args:
        one, other: which answers of the first and of the second are right.
        error_rate: of each interval.
        setting: of the estimates.
    """
    found = [
        mean("accuracy gained", other.astype(float) - one, paired(), error_rate, **setting),
        mcnemar_p(one, other, **setting),
    ]
    only_first, only_second = _discordant(one, other)
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


def mcnemar_p(
    one: Bool[np.ndarray, " questions"],
    other: Bool[np.ndarray, " questions"],
    *,
    names: tuple[str, str] = ("only_first", "only_second"),
    **setting: Any,
) -> Estimate:
    """`mcnemar p`: an exact test of whether both are right equally often.

    Args:
        one, other: which answers of the first and of the second are right.
        names: the names in the setting for what only the first gets right, and for what only the second does.
        setting: of the estimate.
    """
    p = mcnemar(one, other)
    told = "exact: the p-value is computed, by the binomial law of the discordant pairs (McNemar)"
    counts = dict(zip(names, _discordant(one, other), strict=True))
    return known("mcnemar p", p, 1, told, **setting, **counts)


def right(
    scores: Float[np.ndarray, "*r n"], labels: Int[np.ndarray, " n"], *, even: float
) -> Bool[np.ndarray, "*r n"]:
    """Which answers to questions of two labels are right.

    Args:
        scores: of label 1. The answer is 1 above `even`, else 0. A score that is no finite number is never right.
        labels: 0 or 1.
        even: the score between the labels: 0 for log-odds, 0.5 for probabilities.
    """
    return ((scores > even) == labels.astype(bool)) & np.isfinite(scores)


def _discordant(one: Bool[np.ndarray, " questions"], other: Bool[np.ndarray, " questions"]) -> tuple[int, int]:
    return int(np.sum(one & ~other)), int(np.sum(other & ~one))
