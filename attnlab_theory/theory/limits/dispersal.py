"""How sharp attention can stay among many keys, and what a sink takes from it (docs/mathematics/limits.md)."""

import math

import numpy as np


def largest_weight(n: int, peak: float) -> float:
    """The most that one of n keys can weigh when no score exceeds `peak` in size: e^2M / (e^2M + n - 1).

    Reached by one score of M among n - 1 of -M.

    Source: docs/mathematics/limits.md#bounded-scores-disperse; Velickovic et al. 2024, lemma 2.1.
    """
    return float(1 / (1 + (n - 1) * np.exp(-2 * peak)))


def peak_needed(n: int, weight: float) -> float:
    """The least bound on the scores under which a key can weigh `weight`: half of ln((n - 1) w / (1 - w))."""
    return math.log((n - 1) * weight / (1 - weight)) / 2


def sink_factor(total: float) -> float:
    """What one more key of score 0 and value 0 does to the output: Z / (Z + 1), Z the sum of e^score without it.

    Source: docs/mathematics/limits.md#a-sink-lets-attention-say-nothing; Miller 2023; Xiao et al. 2023.
    """
    return total / (total + 1)
