"""What a soft cap does to the odds of two scores (docs/mathematics/sharpness.md)."""

import math


def lost_odds(score: float, cap: float) -> float:
    """The factor exp(s - c tanh(s/c)) by which a cap c divides the odds of a score s against 0.

    Source: docs/mathematics/sharpness.md#a-soft-cap-bends-early.
    """
    return math.exp(score - cap * math.tanh(score / cap))


def lost_odds_of_a_clip(score: float, cap: float) -> float:
    """The same for a hard clip, which leaves scores below the cap alone."""
    return math.exp(score - min(score, cap))
