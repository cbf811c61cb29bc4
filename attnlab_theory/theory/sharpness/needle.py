"""One key that leads among random distractors (docs/mathematics/sharpness.md)."""

import math

import scipy.special

from attnlab_theory.theory import independent_scores


def chance_on_top(n: int, lead: float) -> float:
    """Phi(lead)^n: the chance that no score of n distractors N(0, 1) exceeds the lead.

    Source: docs/mathematics/sharpness.md#no-scale-saves-a-needle.
    """
    return float(scipy.special.ndtr(lead)) ** n


def mean_weight(n: int, lead: float, strength: float) -> float:
    """The mean weight of the needle, if all scores are multiplied by the strength.

    Source: docs/mathematics/sharpness.md#no-scale-saves-a-needle.
    """
    return independent_scores.share(independent_scores.normal(strength), n, strength * lead)


def weight_beside_the_mean_sum(n: int, lead: float, strength: float) -> float:
    """The weight if the distractors' sum is replaced by its mean n e^(strength^2 / 2)."""
    return 1 / (1 + n * math.exp(strength**2 / 2 - strength * lead))


def keys_that_halve(lead: float) -> float:
    """Among so many distractors the needle is on top half of the time: ln 2 / -ln Phi(lead)."""
    return math.log(2) / -math.log(float(scipy.special.ndtr(lead)))
