"""Two models on the same questions: what the second gains over the first, and whether that is luck."""

from typing import Any

import numpy as np
from jaxtyping import Bool

from attnlab_theory.labs.estimates import Estimate, Estimates, mean
from attnlab_theory.stats import Interval, paired
from attnlab_theory.stats.comparisons import discordant_odds, mcnemar


def gained(
    one: Bool[np.ndarray, "questions"], other: Bool[np.ndarray, "questions"], error_rate: float, **setting: Any
) -> Estimates:
    """`accuracy gained`, `mcnemar p` and, if there is one, `discordant odds`.

    `accuracy gained` is for these very models and more such questions.
    `mcnemar p` tests that both are right equally often.
    `discordant odds` says how many questions only the second gets right for each that only the first does. It is
    missing where there is no such question.

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
