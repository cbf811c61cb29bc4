"""Weights of stick-breaking attention over random scores (docs/mathematics/sinks.md)."""

import numpy as np
import scipy.special

from attnlab_theory.theory import independent_scores


def mean_weight(distance: float) -> float:
    """2^-distance: the mean weight of a past token, if scores are independent with a law symmetric around 0.

    Source: docs/mathematics/sinks.md#stick-breaking-halves-at-any-temperature.
    """
    return 0.5**distance


def mean_square(spread: float) -> float:
    """m = E sigma(z)^2, z ~ N(0, spread^2): a quarter without spread, a half for scores that are all or nothing."""
    law = independent_scores.normal(spread)
    return float(law.chances @ scipy.special.expit(law.scores) ** 2)


def participation(past: int, spread: float) -> float:
    """E sum alpha_i^2 over so many past tokens: the sum of m^i, i from 1, because E (1 - sigma(z))^2 is m too."""
    m = mean_square(spread)
    return float(np.sum(m ** np.arange(1, past + 1)))
